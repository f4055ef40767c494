import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SupplementalGroupsPolicy } from '../../cri/generated/runtime-v1.ts';
import type { OciProcess } from '../oci/oci-spec.ts';
import { parseGroups, parsePasswd } from './account-files.ts';
import { type Config, containerConfig, validRequest } from './testing/valid-request.ts';
import { containerUser, needsAccounts } from './user.ts';

/** Names that look like numbers, and numbers beyond the limit. */
const PASSWD = `root:x:0:0:root:/root:/bin/sh
4294967296:x:0:0::/:/bin/sh
4294967295:x:0:0::/:/bin/sh
2147483648:x:0:0::/:/bin/sh
99999999999999999999:x:0:0::/:/bin/sh
-1:x:0:0::/:/bin/sh
+5:x:0:0::/:/bin/sh
007:x:0:0::/:/bin/sh
wrapped:x:4294967296:0::/:/bin/sh
unchanged:x:4294967295:4294967295::/:/bin/sh
negative:x:-1:-1::/:/bin/sh
signed:x:+0:+0::/:/bin/sh
spaced:x: 0: 0::/:/bin/sh
alice:x:1000:1001::/:/bin/sh
 0:x:1500:1500::/:/bin/sh
`;
const GROUPS = `root:x:0:
4294967296:x:0:
-1:x:0:
wrapped:x:4294967296:alice
unchanged:x:4294967295:alice
staff:x:50:alice
`;
const accounts = { users: parsePasswd(PASSWD), groups: parseGroups(GROUPS) };

type Context = NonNullable<NonNullable<Config['linux']>['securityContext']>;

function userFor(user: string, securityContext: Context = {}): OciProcess['user'] {
  const request = validRequest({ container: containerConfig({ linux: { securityContext } }) });
  needsAccounts({ ...request, image: { ...request.image, user } });
  return containerUser({ ...request, image: { ...request.image, user } }, accounts);
}

const byImage: Record<string, readonly [uid: number, gid: number, ...others: number[]]> = {
  '': [0, 0],
  '0': [0, 0],
  '00': [0, 0],
  '+0': [0, 0],
  '-0': [0, 0],
  '+5': [5, 0],
  '007': [7, 0],
  '1000': [1000, 1001, 50],
  '1000:': [1000, 1001, 50],
  '1000:0': [1000, 0, 50],
  '1000:00': [1000, 0, 50],
  'alice:staff': [1000, 50],
  ':5': [0, 5],
  ':staff': [0, 50],
  '2147483647:2147483647': [2_147_483_647, 2_147_483_647],
};

for (const [user, [uid, gid, ...others]] of Object.entries(byImage)) {
  test(`containerUser(): USER ${JSON.stringify(user)}`, () => {
    const additionalGids = [...new Set([gid, ...others])].sort((a, b) => a - b);
    assert.deepEqual(userFor(user), { uid, gid, additionalGids });
  });
}

const range = 'must be between 0 and 2147483647, inclusive';
const rejectedImages: Record<string, string> = {
  '4294967296': `image: USER: 4294967296: ${range}`,
  '4294967295': `image: USER: 4294967295: ${range}`,
  '2147483648': `image: USER: 2147483648: ${range}`,
  '99999999999999999999': `image: USER: 99999999999999999999: ${range}`,
  '-1': `image: USER: -1: ${range}`,
  '1000:4294967296': `image: USER: 4294967296: ${range}`,
  '1000:-1': `image: USER: -1: ${range}`,
  ':4294967295': `image: USER: 4294967295: ${range}`,
  ' ': 'image: USER: the image has no user " "',
  '0 ': 'image: USER: the image has no user "0 "',
  ' 1000': 'image: USER: the image has no user " 1000"',
  '1000: 0': 'image: USER: the image has no group " 0"',
  '0x0': 'image: USER: the image has no user "0x0"',
  '1e3': 'image: USER: the image has no user "1e3"',
  wrapped: 'image: USER: the image has no user "wrapped"',
  unchanged: 'image: USER: the image has no user "unchanged"',
  negative: 'image: USER: the image has no user "negative"',
  signed: 'image: USER: the image has no user "signed"',
  spaced: 'image: USER: the image has no user "spaced"',
  'alice:wrapped': 'image: USER: the image has no group "wrapped"',
  '1:2:3': 'image: invalid USER value "1:2:3"',
};

for (const [user, message] of Object.entries(rejectedImages)) {
  test(`containerUser() rejects USER ${JSON.stringify(user)}`, () => {
    assert.throws(() => userFor(user), { code: 'InvalidArgument', message });
  });
}

const FIELD = 'linux.security_context';
const rejectedContexts: Record<string, { context: Context; message: string }> = {
  'run_as_user that is the name of a root account': {
    context: { runAsUser: { value: 4_294_967_296n } },
    message: `${FIELD}.run_as_user: 4294967296: ${range}`,
  },
  'run_as_user that means "unchanged"': {
    context: { runAsUser: { value: 4_294_967_295n } },
    message: `${FIELD}.run_as_user: 4294967295: ${range}`,
  },
  'a negative run_as_user': {
    context: { runAsUser: { value: -1n } },
    message: `${FIELD}.run_as_user: -1: ${range}`,
  },
  'run_as_group that is the name of the root group': {
    context: { runAsUser: { value: 1000n }, runAsGroup: { value: 4_294_967_296n } },
    message: `${FIELD}.run_as_group: 4294967296: ${range}`,
  },
  'a negative run_as_group': {
    context: { runAsUser: { value: 1000n }, runAsGroup: { value: -1n } },
    message: `${FIELD}.run_as_group: -1: ${range}`,
  },
  'run_as_username that is a number out of range': {
    context: { runAsUsername: '4294967296' },
    message: `${FIELD}.run_as_username: 4294967296: ${range}`,
  },
  'supplemental_groups out of range': {
    context: { runAsUser: { value: 1000n }, supplementalGroups: [1n, 4_294_967_295n] },
    message: `${FIELD}.supplemental_groups[1]: 4294967295: ${range}`,
  },
};

for (const [name, { context, message }] of Object.entries(rejectedContexts)) {
  test(`containerUser() rejects ${name}`, () => {
    for (const supplementalGroupsPolicy of [SupplementalGroupsPolicy.Merge, SupplementalGroupsPolicy.Strict]) {
      assert.throws(() => userFor('alice', { ...context, supplementalGroupsPolicy }), {
        code: 'InvalidArgument',
        message,
      });
    }
  });
}

test('containerUser() ignores USER if the request has a user', () => {
  assert.equal(userFor('4294967296', { runAsUser: { value: 1000n } }).uid, 1000);
  assert.equal(userFor('4294967296', { runAsUsername: '1000' }).uid, 1000);
});
