import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultRouteInterfaceV6 } from './linux-machine-addresses.ts';

const NONE = '00000000000000000000000000000000';
const GATEWAY = 'fe800000000000000000000000000001';
const route = (destination: string, length: string, metric: string, name: string): string =>
  `${destination} ${length} ${NONE} 00 ${GATEWAY} ${metric} 00000001 00000000 00000003 ${name.padStart(8)}`;

test('defaultRouteInterfaceV6() returns the default route with the lowest metric', () => {
  const text = [
    route('20010db8000000000000000000000000', '40', '00000100', 'eth2'),
    route(NONE, '00', '00000400', 'eth0'),
    route(NONE, '00', '00000100', 'eth1'),
    route(NONE, '00', '00000000', 'lo'),
  ].join('\n');
  assert.equal(defaultRouteInterfaceV6(`${text}\n`), 'eth1');
});

test('defaultRouteInterfaceV6() returns undefined without a default route', () => {
  assert.equal(defaultRouteInterfaceV6(''), undefined);
  assert.equal(defaultRouteInterfaceV6(route('20010db8000000000000000000000000', '40', '00000100', 'eth2')), undefined);
});
