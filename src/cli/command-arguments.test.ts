import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandArguments } from './command-arguments.ts';

const node = '/usr/bin/node';
const lines: Record<string, { argv: readonly string[]; argv0: string; args: readonly string[] }> = {
  'the script of the checkout': {
    argv: [node, '/opt/nodelet/src/main.ts', 'ps'],
    argv0: 'node',
    args: ['ps'],
  },
  'the bundle': { argv: [node, '/usr/bin/nodelet', 'kubelet', '--v=2'], argv0: 'node', args: ['kubelet', '--v=2'] },
  'the bundle with the name kubelet': {
    argv: [node, '/usr/bin/kubelet', '--version'],
    argv0: 'node',
    args: ['kubelet', '--version'],
  },
  'the executable with the name kubelet': {
    argv: ['/opt/nodelet/nodelet', '/opt/nodelet/nodelet', '--version'],
    argv0: 'kubelet',
    args: ['kubelet', '--version'],
  },
  'the executable with the path of kubelet': {
    argv: ['/opt/nodelet/nodelet', '/opt/nodelet/nodelet'],
    argv0: '/usr/bin/kubelet',
    args: ['kubelet'],
  },
  'another name that ends alike': {
    argv: [node, '/usr/bin/nodelet-kubelet', 'ps'],
    argv0: 'node',
    args: ['ps'],
  },
};

for (const [name, { argv, argv0, args }] of Object.entries(lines)) {
  test(`the arguments of ${name}`, () => assert.deepEqual(commandArguments(argv, argv0), args));
}
