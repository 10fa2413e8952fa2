import type { Handlers } from '../handlers.ts';
import { answerContentSummary } from './content-summary.ts';
import { answerQuotaUsage } from './quota-usage.ts';
import { answerSetQuota } from './set-quota.ts';

export const SUBTREE_HANDLERS: Handlers = {
  'ClientProtocol.getContentSummary': answerContentSummary,
  'ClientProtocol.getQuotaUsage': answerQuotaUsage,
  'ClientProtocol.setQuota': answerSetQuota,
};
