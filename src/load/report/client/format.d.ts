import type { Unit } from '../chart-spec.ts';

export declare function formatNumber(value: number): string;
export declare function formatMicros(micros: number): string;
export declare function formatBytes(bytes: number): string;
export declare function formatShare(share: number): string;
export declare function formatClock(seconds: number): string;
export declare function formatPercentile(inverse: number): string;
export declare function formatValue(unit: Unit, value: number): string;
