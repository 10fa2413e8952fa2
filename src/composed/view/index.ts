import type { Handlers } from '../handlers.ts';
import { answerBatchedListing } from './batched.ts';
import { answerListing } from './listing.ts';
import { answerWithDirectory, DIRECTORY_METHODS } from './made-directory.ts';
import { answerStatus } from './status.ts';

export const VIEW_HANDLERS: Handlers = {
  'ClientProtocol.getListing': answerListing,
  'ClientProtocol.getBatchedListing': answerBatchedListing,
  'ClientProtocol.getFileInfo': answerStatus,
  'ClientProtocol.getFileLinkInfo': answerStatus,
  'ClientProtocol.getLocatedFileInfo': answerStatus,
  ...Object.fromEntries(DIRECTORY_METHODS.map((name) => [`ClientProtocol.${name}`, answerWithDirectory])),
};
