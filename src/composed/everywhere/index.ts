import type { Handlers } from '../handlers.ts';

export const EVERYWHERE_HANDLERS: Handlers = {};
