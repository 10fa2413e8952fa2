import type { Rig } from './support.ts';
export const JAVA_ROUTERS: readonly Readonly<Record<string, string>>[] = [];
export function defineRefusalTests(_rig: () => Rig): void {}
