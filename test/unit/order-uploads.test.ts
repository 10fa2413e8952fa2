import { expect, it } from 'vitest';
import { uploadOf } from '../../src/mount/order/multipart-uploads.ts';

const UUID = '0EE994D6-84d3-4cd2-a572-8984692d2591';

it.each([
  [`/a/b_multipart_${UUID}/1.part`, '/a/b'],
  [`/a/b_multipart_${UUID}/b`, '/a/b'],
  [`/a/b_multipart_${UUID}/c_multipart_${UUID}/1.part`, `/a/b_multipart_${UUID}/c`],
  [`/a/b\n_multipart_${UUID}/1.part`, '/a/b\n'],
  [`/a/b_multipart_${UUID}`, null],
  [`/a/b_multipart_${UUID}/`, null],
  [`/a/b_multipart_${UUID.slice(1)}/1.part`, null],
  ['/a/b_multipart_/1.part', null],
  ['/a/b', null],
])('%s is a part of %s', (path, expected) => {
  expect(uploadOf(path)).toBe(expected);
});
