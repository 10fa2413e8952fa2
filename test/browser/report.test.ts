import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderReport } from '../../src/load/report/page.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { makeLoadResult } from '../support/load-result.ts';
import { openFile, startBrowser, type WatchedPage } from './browser.ts';

let browser: Browser;
let directory = '';

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-report-'));
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Opens the report of these results and waits until its script is done. */
async function openReport(
  results: readonly LoadResult[],
  options: Parameters<typeof openFile>[2] = {},
): Promise<WatchedPage> {
  const file = join(directory, `${crypto.randomUUID()}.html`);
  writeFileSync(file, renderReport(results));
  const opened = await openFile(browser, file, options);
  await opened.page.waitForSelector('html[data-drawn]', { state: 'attached' });
  return opened;
}

/** For each figure the colours of its lines that its canvas has, of those that its legend shows. */
function readDrawn(page: Page): Promise<Record<string, { wanted: string[]; found: string[] }>> {
  return page.evaluate<Record<string, { wanted: string[]; found: string[] }>>(`(() => {
    const colours = {};
    for (const figure of document.querySelectorAll('figure')) {
      const canvas = figure.querySelector('canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const present = new Set();
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255) present.add('rgb(' + data[at] + ', ' + data[at + 1] + ', ' + data[at + 2] + ')');
      }
      const wanted = [...figure.querySelectorAll('.legend button:not([hidden])[aria-pressed="true"] path')]
        .map((path) => getComputedStyle(path).stroke);
      colours[figure.id] = { wanted, found: wanted.filter((colour) => present.has(colour)) };
    }
    return colours;
  })()`);
}

function readPicture(page: Page, figure: string): Promise<string> {
  return page.evaluate<string>(`document.querySelector('#${figure} canvas').toDataURL()`);
}

const legendOf = (page: Page, figure: string) => page.locator(`#${figure} .legend button:visible`);

describe('the report in a browser', () => {
  it.each(['light', 'dark'] as const)('draws every chart of one run, %s', async (colorScheme) => {
    await using opened = await openReport([makeLoadResult({ errors: 12 })], { colorScheme });
    const drawn = await readDrawn(opened.page);
    expect(Object.keys(drawn)).toEqual(['curve', 'latency', 'rate', 'backlog', 'errors', 'rss', 'cpu', 'sockets']);
    for (const [id, { wanted, found }] of Object.entries(drawn)) {
      expect(wanted.length, id).toBeGreaterThan(0);
      // The asked rate is a dashed line under the answered one: little of it need be seen.
      if (id !== 'rate') expect(found, id).toEqual(wanted);
    }
    expect(opened.complaints).toEqual([]);
  });

  it('draws two runs over each other', async () => {
    const results = [makeLoadResult(), makeLoadResult({ medianMicros: 1500, seed: 4, achievedShare: 0.9 })];
    await using opened = await openReport(results);
    const drawn = await readDrawn(opened.page);
    for (const id of ['curve', 'latency-p50', 'latency-p99', 'latency-p999', 'latency-max', 'backlog']) {
      expect(drawn[id]?.found.length, id).toBeGreaterThanOrEqual(2);
      expect(new Set(drawn[id]?.found).size, id).toBe(2);
    }
    expect(opened.complaints).toEqual([]);
  });

  it('draws an hour of seconds, and a run of three', async () => {
    for (const seconds of [3600, 3]) {
      await using opened = await openReport([makeLoadResult({ seconds, warmupSeconds: 1 })]);
      const drawn = await readDrawn(opened.page);
      expect(drawn['latency']?.found.length, `${seconds} s`).toBe(4);
      expect(opened.complaints).toEqual([]);
    }
  });

  it('draws seconds that have none beside them, and a single one', async () => {
    const made = makeLoadResult({ seconds: 12, warmupSeconds: 1 });
    const alone = made.series.map((point) => (point.second % 3 === 0 ? point : { ...point, callsPerSecond: 0 }));
    for (const series of [alone, made.series.slice(1, 2)]) {
      await using opened = await openReport([{ ...made, series }]);
      const { latency } = await readDrawn(opened.page);
      expect(latency?.wanted).toHaveLength(4);
      expect(latency?.found).toEqual(latency?.wanted);
      expect(opened.complaints).toEqual([]);
    }
  });

  it('fits narrow screens when runs are compared', async () => {
    const results = [makeLoadResult(), makeLoadResult({ medianMicros: 1500, seed: 4, errors: 5 })];
    await using opened = await openReport(results, { viewport: { width: 360, height: 800 } });
    const fits = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
    expect(await opened.page.evaluate<boolean>(fits)).toBe(true);
  });

  it('keeps the texts of tables readable on narrow screens', async () => {
    const errorMessage = 'Operation category READ is not supported in state standby. Visit the page of the server.';
    const result = makeLoadResult({ errors: 12, errorMessage });
    await using opened = await openReport([result], { viewport: { width: 360, height: 800 } });
    const width = `document.querySelector('section[aria-labelledby="errors-by-class"] td.text').clientWidth`;
    expect(await opened.page.evaluate<number>(width)).toBeGreaterThan(150);
  });

  it('is operated by keys and says aloud where the cursor is', async () => {
    await using opened = await openReport([makeLoadResult({ seconds: 30 })]);
    const { page } = opened;
    await page.focus('#latency-plot');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.textContent('#latency .place')).toBe('at 0:02');
    expect(await page.textContent('#spoken')).toMatch(/^at 0:02: p50 .+s, p99 .+s, p99\.9 .+s, max .+s$/);
    // The other charts over time follow.
    await expect.poll(() => page.textContent('#rate .place')).toBe('at 0:02');
    await page.keyboard.press('End');
    await expect.poll(() => page.textContent('#latency .place')).toBe('at 0:34');
    await page.keyboard.press('Home');
    await expect.poll(() => page.textContent('#latency .place')).toBe('at 0:00');
    await page.focus('#curve-plot');
    await page.keyboard.press('End');
    expect(await page.textContent('#spoken')).toMatch(/^at 99\.99\d* %: corrected .+, service .+$/);
    expect(opened.complaints).toEqual([]);
  });

  it('reaches every control with the tab key', async () => {
    await using opened = await openReport([makeLoadResult({ seconds: 10 })]);
    const { page } = opened;
    const reached = new Set<string>();
    for (let presses = 0; presses < 80; presses++) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate<string>(
        `(() => { const e = document.activeElement; return e.id || e.name || e.getAttribute('aria-label') || e.textContent.trim(); })()`,
      );
      reached.add(name);
    }
    for (const wanted of ['curve-plot', 'latency-plot', 'basis', 'scale', 'show-all', 'p99', 'Table by operation']) {
      expect([...reached]).toContain(wanted);
    }
  });

  it('switches lines off, service times on, and the scale', async () => {
    await using opened = await openReport([makeLoadResult()]);
    const { page } = opened;
    await legendOf(page, 'latency').nth(3).click();
    expect(await legendOf(page, 'latency').nth(3).getAttribute('aria-pressed')).toBe('false');
    expect((await readDrawn(page))['latency']?.wanted).toHaveLength(3);
    const picture = () => readPicture(page, 'latency');
    const corrected = await picture();
    await page.check('input[name="basis"][value="service"]');
    const service = await picture();
    expect(service).not.toBe(corrected);
    expect(await legendOf(page, 'latency').count()).toBe(4);
    await page.check('input[name="scale"][value="linear"]');
    expect(await picture()).not.toBe(service);
    expect(opened.complaints).toEqual([]);
  });

  it('zooms with drag and key, and back', async () => {
    await using opened = await openReport([makeLoadResult()]);
    const { page } = opened;
    const picture = () => readPicture(page, 'rate');
    await page.locator('#latency-plot').scrollIntoViewIfNeeded();
    const whole = await picture();
    const box = await page.locator('#latency .u-over').boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.mouse.move(5, 5);
    await expect.poll(picture).not.toBe(whole);
    await page.click('#show-all');
    await expect.poll(picture).toBe(whole);
    await page.focus('#rate-plot');
    await page.keyboard.press('+');
    await expect.poll(picture).not.toBe(whole);
    await page.keyboard.press('0');
    await expect.poll(picture).toBe(whole);
  });

  it('follows the colours and the width of the window', async () => {
    await using opened = await openReport([makeLoadResult()], { colorScheme: 'light' });
    const { page } = opened;
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(await background()).toBe('rgb(255, 255, 255)');
    const light = (await readDrawn(page))['latency']?.found;
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(async () => (await readDrawn(page))['latency']?.found).toHaveLength(4);
    expect((await readDrawn(page))['latency']?.found).not.toEqual(light);
    expect(await background()).not.toBe('rgb(255, 255, 255)');
    await page.setViewportSize({ width: 420, height: 800 });
    const fits = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
    await expect.poll(() => page.evaluate<boolean>(fits)).toBe(true);
    const width = () =>
      page.evaluate<number>(`document.querySelector('#latency canvas').getBoundingClientRect().width`);
    await expect.poll(width).toBeLessThan(420);
  });

  it('runs nothing that a result brings with it', async () => {
    const evil = '</script><script>alert(1)</script><img src="//h.invalid/x" onerror="alert(2)">\'"';
    const made = makeLoadResult({
      errors: 4,
      errorMessage: evil,
      errorClass: evil,
      mounts: [evil],
      users: [evil],
      command: evil,
    });
    await using opened = await openReport([made, { ...made, startedAt: evil }]);
    const { page } = opened;
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('section[aria-labelledby="mounts"] tbody th').first().textContent()).toBe(evil);
    // The policy of the page holds even for markup that would get into it.
    const blocked = await page.evaluate<boolean>(`new Promise((resolve) => {
      document.addEventListener('securitypolicyviolation', () => resolve(true), { once: true });
      const script = document.createElement('script');
      script.textContent = 'document.documentElement.dataset.broken = "yes"';
      document.body.append(script);
      if (document.documentElement.dataset.broken === 'yes') resolve(false);
    })`);
    expect(blocked).toBe(true);
    expect(opened.complaints.filter((each) => !each.startsWith('console: '))).toEqual([]);
  });

  it('has all numbers without its script', async () => {
    await using opened = await openFile(browser, writePage(), { javaScriptEnabled: false });
    const { page } = opened;
    expect(await page.locator('figure details').count()).toBe(7);
    await page.locator('#latency summary').click();
    expect(await page.locator('#latency tbody tr').count()).toBeGreaterThan(10);
    expect(await page.locator('noscript').textContent()).toContain('The charts need JavaScript');
  });
});

function writePage(): string {
  const file = join(directory, 'plain.html');
  writeFileSync(file, renderReport([makeLoadResult()]));
  return file;
}
