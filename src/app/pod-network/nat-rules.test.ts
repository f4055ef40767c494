import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  emptyPodChains,
  hasHostPortChains,
  hostPortChainRemoval,
  masqueradeRemoval,
  networkRemoval,
} from './nat-rules.ts';

const BARE = `*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.1.0.0/16 -j MASQUERADE
COMMIT
`;

/** The rules that the plugins leave after the last pod. */
const UNUSED = `*nat
:POSTROUTING ACCEPT [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-HOSTPORT-SETMARK - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A OUTPUT -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000
COMMIT
`;

const IN_USE = String.raw`*nat
:CNI-DN-aaaa - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-aaaa - [0:0]
:CNI-bbbb - [0:0]
-A POSTROUTING -s 10.59.13.2/32 -m comment --comment "name: \"nodelet0\" id: \"da23\"" -j CNI-aaaa
-A POSTROUTING -s 10.60.13.2/32 -m comment --comment "name: \"nodelet01\" id: \"beef\"" -j CNI-bbbb
-A CNI-DN-aaaa -p tcp -m tcp --dport 25613 -j DNAT --to-destination 10.59.13.2:8080
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nodelet0\" id: \"da23\"" -m multiport --dports 25613 -j CNI-DN-aaaa
-A CNI-aaaa -d 10.59.13.0/24 -m comment --comment "name: \"nodelet0\" id: \"da23\"" -j ACCEPT
COMMIT
`;

test('hasHostPortChains() finds the chains with and without pods', () => {
  assert.deepEqual([BARE, UNUSED, IN_USE].map(hasHostPortChains), [false, true, true]);
});

test('hostPortChainRemoval() removes the jumps to the chains before the chains', () => {
  assert.deepEqual(hostPortChainRemoval(UNUSED), [
    ['-D', 'PREROUTING', '-m', 'addrtype', '--dst-type', 'LOCAL', '-j', 'CNI-HOSTPORT-DNAT'],
    ['-D', 'OUTPUT', '-m', 'addrtype', '--dst-type', 'LOCAL', '-j', 'CNI-HOSTPORT-DNAT'],
    ['-D', 'POSTROUTING', '-m', 'comment', '--comment', 'CNI portfwd requiring masquerade', '-j', 'CNI-HOSTPORT-MASQ'],
    ['-F', 'CNI-HOSTPORT-DNAT'],
    ['-F', 'CNI-HOSTPORT-MASQ'],
    ['-F', 'CNI-HOSTPORT-SETMARK'],
    ['-X', 'CNI-HOSTPORT-DNAT'],
    ['-X', 'CNI-HOSTPORT-MASQ'],
    ['-X', 'CNI-HOSTPORT-SETMARK'],
  ]);
});

test('hostPortChainRemoval() keeps chains that a pod uses, and foreign rules', () => {
  assert.deepEqual([hostPortChainRemoval(IN_USE), hostPortChainRemoval(BARE)], [[], []]);
});

test('networkRemoval() removes the rules of one network with the chains that they jump to', () => {
  const dnat = ['-p', 'tcp', '-m', 'comment', '--comment', 'dnat name: "nodelet0" id: "da23"'];
  assert.deepEqual(networkRemoval(IN_USE, 'nodelet0'), [
    [
      '-D',
      'POSTROUTING',
      '-s',
      '10.59.13.2/32',
      '-m',
      'comment',
      '--comment',
      'name: "nodelet0" id: "da23"',
      '-j',
      'CNI-aaaa',
    ],
    ['-D', 'CNI-HOSTPORT-DNAT', ...dnat, '-m', 'multiport', '--dports', '25613', '-j', 'CNI-DN-aaaa'],
    ['-F', 'CNI-aaaa'],
    ['-F', 'CNI-DN-aaaa'],
    ['-X', 'CNI-aaaa'],
    ['-X', 'CNI-DN-aaaa'],
  ]);
});

test('networkRemoval() is empty if the pods were removed by CNI DEL', () => {
  assert.deepEqual(networkRemoval(UNUSED, 'nodelet0'), []);
});

/** The rules after the bridge plugin was killed while it created a pod's chain: empty, or without a jump to it. */
const HALF_MADE = String.raw`*nat
:POSTROUTING ACCEPT [0:0]
:CNI-0f06ab002f654ec110fe5fb2 - [0:0]
:CNI-37d0fbb027893d8e3076eade - [0:0]
:CNI-63842ab53b1a4869c58aeaa0 - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
-A POSTROUTING -s 10.60.13.2/32 -m comment --comment "name: \"other\" id: \"beef\"" -j CNI-63842ab53b1a4869c58aeaa0
-A CNI-37d0fbb027893d8e3076eade -d 10.59.13.0/24 -m comment --comment "name: \"nodelet0\" id: \"a17b\"" -j ACCEPT
COMMIT
`;

test('networkRemoval() removes a chain of the network without a jump to it', () => {
  assert.deepEqual(networkRemoval(HALF_MADE, 'nodelet0'), [
    ['-F', 'CNI-37d0fbb027893d8e3076eade'],
    ['-X', 'CNI-37d0fbb027893d8e3076eade'],
  ]);
});

test('emptyPodChains() finds pod chains without rules and without jumps to them', () => {
  assert.deepEqual(emptyPodChains(HALF_MADE), ['CNI-0f06ab002f654ec110fe5fb2']);
  assert.deepEqual([BARE, UNUSED, IN_USE].flatMap(emptyPodChains), []);
});

const MASQUERADED = `*nat
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.1.0.0/16 -j MASQUERADE
-A POSTROUTING -s 10.87.0.0/16 ! -o nodelet0 -m comment --comment "nodelet nodelet0" -j MASQUERADE
-A POSTROUTING -s 10.88.0.0/16 ! -o nodelet0 -m comment --comment "nodelet nodelet0" -j MASQUERADE
-A POSTROUTING -s 10.89.0.0/16 ! -o nodelet01 -m comment --comment "nodelet nodelet01" -j MASQUERADE
COMMIT
`;

test('masqueradeRemoval() removes the rules of one network, except for its ranges', () => {
  const rest = ['!', '-o', 'nodelet0', '-m', 'comment', '--comment', 'nodelet nodelet0', '-j', 'MASQUERADE'];
  const first = ['-D', 'POSTROUTING', '-s', '10.87.0.0/16', ...rest];
  const second = ['-D', 'POSTROUTING', '-s', '10.88.0.0/16', ...rest];
  assert.deepEqual(masqueradeRemoval(MASQUERADED, 'nodelet0', ['10.88.0.0/16']), [first]);
  assert.deepEqual(masqueradeRemoval(MASQUERADED, 'nodelet0', []), [first, second]);
  assert.deepEqual(masqueradeRemoval(MASQUERADED, 'nodelet', []), []);
});
