import type { Handlers } from '../handlers.ts';

export const LIST_HANDLERS: Handlers = {};
