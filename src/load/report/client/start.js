import { Chart } from './chart.js';

/** @typedef {import('../chart-spec.ts').ChartSpec} ChartSpec */

/** @type {ChartSpec[]} */
const specs = JSON.parse(document.getElementById('charts')?.textContent ?? '[]');
const spoken = document.getElementById('spoken');
const charts = specs.map((spec) => new Chart(spec, followCursor));

drawAll();
for (const input of document.querySelectorAll('.switches input')) input.addEventListener('change', drawAll);
document.getElementById('show-all')?.addEventListener('click', () => {
  for (const chart of charts) if (chart.spec.kind === 'time') chart.showAll();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
const observer = new ResizeObserver(() => {
  for (const chart of charts) chart.resize();
});
for (const chart of charts) observer.observe(chart.room);
document.documentElement.dataset['drawn'] = String(charts.length);

function drawAll() {
  const basis = readSwitch('basis') === 'service' ? 'service' : 'corrected';
  const scale = readSwitch('scale') === 'linear' ? 'linear' : 'log';
  for (const chart of charts) chart.draw({ basis, scale });
}

/**
 * Charts over time move together, as they do with the mouse.
 * @param {Chart} moved
 * @param {number} x
 * @param {string} sentence
 */
function followCursor(moved, x, sentence) {
  if (spoken !== null) spoken.textContent = sentence;
  if (moved.spec.kind !== 'time') return;
  for (const chart of charts) if (chart !== moved && chart.spec.kind === 'time') chart.pointAt(x);
}

/**
 * Value of the chosen radio button; null without such a switch.
 * @param {string} name
 * @returns {string | null}
 */
function readSwitch(name) {
  return (
    /** @type {HTMLInputElement | null} */ (document.querySelector(`input[name="${name}"]:checked`))?.value ?? null
  );
}
