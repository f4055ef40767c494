import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxSysctls, sysctlPath } from './sandbox-sysctls.ts';

const paths: Record<string, string> = {
  'net.ipv4.ip_forward': 'net/ipv4/ip_forward',
  'net/ipv4/ip_forward': 'net/ipv4/ip_forward',
  'net.ipv4.conf.eth0/100.forwarding': 'net/ipv4/conf/eth0.100/forwarding',
  'net/ipv4/conf/eth0.100/forwarding': 'net/ipv4/conf/eth0.100/forwarding',
  plain: 'plain',
};
for (const [name, path] of Object.entries(paths)) {
  test(`sysctlPath() reads ${name} as ${path}`, () => assert.equal(sysctlPath(name), path));
}

const OWN = { network: '/n', ipc: '/i', uts: '/u' };
const { network: _network, uts: _uts, ...nodeNetwork } = OWN;
const { ipc: _ipc, ...nodeIpc } = OWN;

test('sandboxSysctls() accepts sysctls of a namespace of the sandbox', () => {
  const names = [
    'net.core.somaxconn',
    'kernel.shmmax',
    'kernel/msgmni',
    'kernel.sem',
    'fs.mqueue.msg_max',
    'kernel.domainname',
  ];
  const taken = sandboxSysctls(Object.fromEntries(names.map((name) => [name, '1'])), OWN);
  assert.deepEqual(
    taken,
    names.map((name) => [sysctlPath(name), '1']),
  );
});

const refused: Record<string, { namespaces?: Partial<typeof OWN>; why: string }> = {
  'vm.overcommit_memory': { why: 'belongs to no namespace of a sandbox' },
  'kernel.panic': { why: 'belongs to no namespace of a sandbox' },
  'kernel.shm_next_id': { why: 'belongs to no namespace of a sandbox' },
  'fs.file-max': { why: 'belongs to no namespace of a sandbox' },
  'kernel.hostname': { why: 'the host name has its own field' },
  'net.core.somaxconn': { namespaces: nodeNetwork, why: 'not allowed with the network of the node' },
  'kernel.domainname': { namespaces: nodeNetwork, why: 'not allowed with the network of the node' },
  'kernel.shmmax': { namespaces: nodeIpc, why: 'not allowed with the IPC namespace of the node' },
  'fs.mqueue.msg_max': { namespaces: nodeIpc, why: 'not allowed with the IPC namespace of the node' },
  'net/../kernel/panic': { why: 'not a sysctl name' },
  'net.//.kernel.panic': { why: 'not a sysctl name' },
  '/net/ipv4': { why: 'not a sysctl name' },
  net: { why: 'not a sysctl name' },
  '': { why: 'not a sysctl name' },
};
for (const [name, { namespaces = OWN, why }] of Object.entries(refused)) {
  test(`sandboxSysctls() rejects ${name}: ${why}`, () => {
    const message = `linux.sysctls[${JSON.stringify(name)}]: ${why}`;
    assert.throws(() => sandboxSysctls({ [name]: '1' }, namespaces), { code: 'InvalidArgument', message });
  });
}
