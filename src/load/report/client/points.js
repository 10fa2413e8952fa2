/**
 * Indexes of the values that no line joins to another; null when there are none.
 * @param {ReadonlyArray<number | null>} values
 * @param {boolean} spansGaps lines are drawn across what is missing
 * @returns {number[] | null}
 */
export function findAlone(values, spansGaps) {
  /** @type {number[]} */
  const present = [];
  values.forEach((value, index) => {
    if (value !== null) present.push(index);
  });
  const alone = present.filter((index, at) =>
    spansGaps ? present.length === 1 : present[at - 1] !== index - 1 && present[at + 1] !== index + 1,
  );
  return alone.length === 0 ? null : alone;
}
