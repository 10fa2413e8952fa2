import { formatValue } from './format.js';

/** @typedef {import('../chart-spec.ts').ChartSpec} ChartSpec */
/** @typedef {import('../chart-spec.ts').ChartLine} ChartLine */

/**
 * @typedef {object} Legend
 * @property {HTMLElement} element
 * @property {(where: string, indexes: readonly (number | null)[]) => void} show the values of the lines at these indexes
 * @property {(shown: readonly boolean[]) => void} update which lines are drawn; the others keep their button where `hidden` says so
 */

/**
 * A button for each line that switches it on and off, with the line's value under the cursor.
 * @param {ChartSpec} spec
 * @param {(line: number) => void} toggle
 * @returns {Legend}
 */
export function makeLegend(spec, toggle) {
  const element = document.createElement('div');
  element.className = 'legend';
  const place = document.createElement('span');
  place.className = 'place';
  const entries = spec.lines.map((line, index) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(drawSample(line), ` ${line.label} `);
    const value = document.createElement('output');
    button.append(value);
    button.addEventListener('click', () => toggle(index));
    element.append(button);
    return { button, value };
  });
  element.append(place);
  return {
    element,
    show(where, indexes) {
      place.textContent = where;
      entries.forEach(({ value }, index) => {
        const at = indexes[index] ?? null;
        const number = at === null ? null : (spec.lines[index]?.values[at] ?? null);
        value.textContent = number === null ? '' : formatValue(spec.unit, number);
      });
    },
    update(shown) {
      entries.forEach(({ button }, index) => {
        button.setAttribute('aria-pressed', String(shown[index] === true));
      });
    },
  };
}

/**
 * Hides the buttons of lines that the page does not show now.
 * @param {Legend} legend
 * @param {readonly boolean[]} offered
 */
export function offerLines(legend, offered) {
  legend.element.querySelectorAll('button').forEach((button, index) => {
    button.hidden = offered[index] !== true;
  });
}

/**
 * @param {ChartLine} line
 * @returns {SVGElement}
 */
function drawSample(line) {
  const sample = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  sample.setAttribute('width', '22');
  sample.setAttribute('height', '8');
  sample.setAttribute('aria-hidden', 'true');
  sample.setAttribute('class', `sample line-${line.colour}${line.dashed ? ' dashed' : ''}`);
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', 'M0 4H22');
  sample.append(path);
  return sample;
}
