/** Dates as the Java Router writes them, in the local time zone. */

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;
const ZONE = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' });

const two = (number: number): string => String(number).padStart(2, '0');

/** `2026/11/30 06:39:34`; `-` where there is no date. */
export function dateText(ms: number): string {
  if (ms <= 0) return '-';
  const date = new Date(ms);
  return `${date.getFullYear()}/${two(date.getMonth() + 1)}/${two(date.getDate())} ${timeText(date)}`;
}

/** As `Date.toString`: `Mon Nov 30 06:43:39 UTC 2026`. */
export function javaDateText(ms: number): string {
  const date = new Date(ms);
  const zone = ZONE.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC';
  const day = `${DAYS[date.getDay()]} ${MONTHS[date.getMonth()]} ${two(date.getDate())}`;
  return `${day} ${timeText(date)} ${zone} ${date.getFullYear()}`;
}

function timeText(date: Date): string {
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
