export declare function findAlone(values: readonly (number | null)[], spansGaps: boolean): number[] | null;
