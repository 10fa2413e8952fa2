import { expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { Impersonation } from '../../src/control/impersonation.ts';

/** A user that cannot be the argument of a program. */
const UNASKABLE = 'a\0b';

it('a refusal for want of an answer says what could not be found out', async () => {
  const overrides = [{ key: 'hadoop.proxyuser.oozie.groups', value: 'staff', origin: 'test' }];
  const impersonation = new Impersonation(new Configuration({ directory: null, overrides }));
  const identity = { user: UNASKABLE, realUser: 'oozie', address: '127.0.0.1', port: 1 };
  const refusal = await impersonation.refusalOf(identity);
  expect(refusal).toContain(`User: oozie is not allowed to impersonate ${UNASKABLE}: `);
  expect(refusal).toMatch(/null bytes/);
  expect(refusal).not.toContain('could not be looked up (');
});
