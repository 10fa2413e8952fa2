import type { Rig } from './support.ts';
export function defineRefreshTests(_rig: () => Rig): void {}
