const MARK = '_multipart_';
const UPLOAD = /^(.*)_multipart_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/./is;

/**
 * What decides about the place of a file that is a part of an upload by Hadoop's MultipartUploader: the path of the directory of the parts up to
 * its mark, which is that of the file to be, without its extension. Null for every other path.
 *
 * The parts are files `NAME_multipart_UUID/N.part`. In the end concat joins them, which it can only within one nameservice: they must not be spread
 * like other files. Other routers find them nevertheless, for they look in all locations.
 */
export function uploadOf(path: string): string | null {
  if (!path.includes(MARK)) return null;
  return UPLOAD.exec(path)?.[1] ?? null;
}
