import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressConflict, type NetworkTables, parseLocalAddresses, parseRoutes } from './address-conflict.ts';
import { rangeText } from './ipv4-range.ts';

const route = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
docker0	0000580A	00000000	0001	0	0	0	0000FFFF	0	0	0
down0	0000630A	00000000	0000	0	0	0	0000FFFF	0	0	0
nodelet0	0000590A	00000000	0001	0	0	0	0000FFFF	0	0	0
`;

const fibTrie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/8 2 0 2
        |-- 10.89.0.1
           /32 host LOCAL
        |-- 10.70.0.5
           /32 host LOCAL
        |-- 10.70.255.255
           /32 link BROADCAST
        |-- 192.0.2.2
           /32 host LOCAL
Local:
  +-- 0.0.0.0/0 3 0 5
        |-- 10.70.0.5
           /32 host LOCAL
`;

const tables: NetworkTables = { route, fibTrie };

test('parseRoutes() reads the routes that are up', () => {
  assert.deepEqual(
    parseRoutes(route).map(({ device, range }) => `${rangeText(range)} ${device}`),
    ['0.0.0.0/0 eth0', '192.0.2.0/24 eth0', '10.88.0.0/16 docker0', '10.89.0.0/16 nodelet0'],
  );
});

test("parseLocalAddresses() reads the machine's own addresses, each once", () => {
  assert.deepEqual(parseLocalAddresses(fibTrie).map(rangeText), ['10.89.0.1/32', '10.70.0.5/32', '192.0.2.2/32']);
});

const cases: Record<string, { podCidr: string; conflict: string | undefined }> = {
  'accepts a free range beside a default route': { podCidr: '10.90.0.0/16', conflict: undefined },
  'accepts the range of its own bridge': { podCidr: '10.89.0.0/16', conflict: undefined },
  'ignores a route that is down': { podCidr: '10.99.0.0/16', conflict: undefined },
  'rejects the range of another bridge': {
    podCidr: '10.88.0.0/16',
    conflict: 'the pod range 10.88.0.0/16 overlaps 10.88.0.0/16 on docker0; choose another',
  },
  'rejects a part of a used range': {
    podCidr: '10.88.7.0/24',
    conflict: 'the pod range 10.88.7.0/24 overlaps 10.88.0.0/16 on docker0; choose another',
  },
  'rejects a range that contains a used one': {
    podCidr: '192.0.0.0/8',
    conflict: 'the pod range 192.0.0.0/8 overlaps 192.0.2.0/24 on eth0; choose another',
  },
  'rejects a local address without a route': {
    podCidr: '10.70.0.0/24',
    conflict: "the pod range 10.70.0.0/24 holds this machine's own address 10.70.0.5; choose another",
  },
  'rejects other texts': {
    podCidr: '10.88.0.0',
    conflict: '"10.88.0.0" is not an IPv4 range such as 10.88.0.0/16',
  },
  'rejects invalid addresses': {
    podCidr: '10.256.0.0/16',
    conflict: '"10.256.0.0/16" is not an IPv4 range such as 10.88.0.0/16',
  },
  'rejects a range that is too small': {
    podCidr: '10.90.0.0/31',
    conflict: 'the pod range 10.90.0.0/31 has no room for a gateway and a pod',
  },
};

for (const [name, { podCidr, conflict }] of Object.entries(cases)) {
  test(`addressConflict() ${name}`, () => {
    assert.equal(addressConflict(podCidr, 'nodelet0', tables), conflict);
  });
}

test('parseRoutes() skips malformed lines', () => {
  assert.deepEqual(parseRoutes('Iface\neth0 00 0 0001 0 0 0 FF\neth0 zzzzzzzz 0 0001 0 0 0 00000000\n'), []);
});
