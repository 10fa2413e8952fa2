import type { Handlers } from '../handlers.ts';

export const VIEW_HANDLERS: Handlers = {};
