import type { Handlers } from '../handlers.ts';
import { answerBlockCall } from './block-calls.ts';

export const LOCATION_HANDLERS: Handlers = {
  'ClientProtocol.abandonBlock': answerBlockCall,
  'ClientProtocol.addBlock': answerBlockCall,
  'ClientProtocol.complete': answerBlockCall,
  'ClientProtocol.getAdditionalDatanode': answerBlockCall,
};
