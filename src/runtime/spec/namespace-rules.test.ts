import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamespaceMode } from '../../cri/generated/runtime-v1.ts';
import { checkSandboxNamespaces } from './namespace-rules.ts';
import { type Sandbox, sandboxConfig } from './testing/valid-request.ts';

type Options = NonNullable<NonNullable<NonNullable<Sandbox['linux']>['securityContext']>['namespaceOptions']>;

const { POD, CONTAINER, NODE, TARGET } = NamespaceMode;
const ids = [{ containerId: 0, hostId: 65_536, length: 65_536 }];
const users = { mode: POD, uids: ids, gids: ids };

const cases: Record<string, { given: Options; error?: string }> = {
  'the namespaces of a pod': { given: {} },
  'separate PID namespaces': { given: { pid: CONTAINER } },
  'the namespaces of the node': { given: { network: NODE, pid: NODE, ipc: NODE } },
  'a user namespace': { given: { usernsOptions: users } },
  'the user namespace of the node': { given: { usernsOptions: { mode: NODE } } },
  'several ranges of ids': {
    given: { usernsOptions: { ...users, uids: [...ids, { containerId: 65_536, hostId: 1_000_000, length: 5 }] } },
  },
  'a network for each container': {
    given: { network: CONTAINER },
    error: 'network: unsupported namespace mode CONTAINER',
  },
  'a network of a target': { given: { network: TARGET }, error: 'network: unsupported namespace mode TARGET' },
  'semaphores for each container': { given: { ipc: CONTAINER }, error: 'ipc: unsupported namespace mode CONTAINER' },
  'processes of a target': { given: { pid: TARGET, targetId: 'x' }, error: 'pid: unsupported namespace mode TARGET' },
  'an unknown mode': { given: { pid: 9 as never }, error: 'pid: unsupported namespace mode 9' },
  'users for each container': {
    given: { usernsOptions: { ...users, mode: CONTAINER } },
    error: 'userns_options.mode: unsupported namespace mode CONTAINER',
  },
  "a user namespace on the node's network": {
    given: { network: NODE, usernsOptions: users },
    error: 'network: the namespace of the node cannot be used with a user namespace',
  },
  "a user namespace with the node's processes": {
    given: { pid: NODE, usernsOptions: users },
    error: 'pid: the namespace of the node cannot be used with a user namespace',
  },
  "a user namespace with the node's semaphores": {
    given: { ipc: NODE, usernsOptions: users },
    error: 'ipc: the namespace of the node cannot be used with a user namespace',
  },
  'a user namespace without ids': {
    given: { usernsOptions: { mode: POD } },
    error: 'userns_options.uids: no mapping for ID 0',
  },
  'a user namespace without root': {
    given: { usernsOptions: { ...users, gids: [{ containerId: 1, hostId: 5, length: 1 }] } },
    error: 'userns_options.gids: no mapping for ID 0',
  },
  'an empty range': {
    given: { usernsOptions: { ...users, uids: [{ containerId: 0, hostId: 5, length: 0 }] } },
    error: 'userns_options.uids[0].length: must be greater than 0',
  },
  'ranges that overlap': {
    given: { usernsOptions: { ...users, uids: [...ids, { containerId: 70_000, hostId: 131_071, length: 1 }] } },
    error: 'userns_options.uids[1]: overlaps with an earlier mapping',
  },
  "ids for the node's user namespace": {
    given: { usernsOptions: { ...users, mode: NODE } },
    error: 'userns_options.uids: mode NODE allows no mappings',
  },
};

for (const [name, { given, error }] of Object.entries(cases)) {
  test(`checkSandboxNamespaces() ${error ? 'rejects' : 'allows'} ${name}`, () => {
    const check = () =>
      checkSandboxNamespaces(sandboxConfig({ linux: { securityContext: { namespaceOptions: given } } }));
    const message = `linux.security_context.namespace_options.${error}`;
    if (error === undefined) assert.doesNotThrow(check);
    else assert.throws(check, { code: 'InvalidArgument', message });
  });
}
