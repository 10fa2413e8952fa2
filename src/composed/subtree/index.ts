import type { Handlers } from '../handlers.ts';

export const SUBTREE_HANDLERS: Handlers = {};
