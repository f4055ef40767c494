import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNetworkList, parseSinglePlugin } from './network-config.ts';

const list = { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'bridge', mtu: 1400 }] };
const network = {
  name: 'pods',
  cniVersion: '1.0.0',
  disableCheck: false,
  disableGC: false,
  plugins: [{ type: 'bridge', mtu: 1400 }],
};

test('parseNetworkList() keeps the fields of plugins, and parses its own result again', () => {
  const parsed = parseNetworkList(list);
  assert.deepEqual(parsed, { isComplete: false, network });
  assert.deepEqual(parseNetworkList(JSON.parse(JSON.stringify(network))).network, network);
});

const versions: Record<string, { given: object; version: string }> = {
  'a file without a version is of the first one': { given: { cniVersion: undefined }, version: '0.1.0' },
  'the newest supported one of several': {
    given: { cniVersion: '0.4.0', cniVersions: ['0.3.1', '1.1.0', '9.0.0'] },
    version: '1.1.0',
  },
  'cniVersion counts too': { given: { cniVersion: '1.0.0', cniVersions: ['0.3.1'] }, version: '1.0.0' },
};
for (const [name, { given, version }] of Object.entries(versions)) {
  test(`parseNetworkList() version: ${name}`, () => {
    assert.equal(parseNetworkList({ ...list, ...given }).network.cniVersion, version);
  });
}

test('parseNetworkList() accepts flags in the spellings of CNI', () => {
  const given = { ...list, disableCheck: 'True', disableGC: true, loadOnlyInlinedPlugins: 'true' };
  assert.deepEqual(parseNetworkList(given), {
    isComplete: true,
    network: { ...network, disableCheck: true, disableGC: true },
  });
});

const rejected: Record<string, { given: unknown; message: string }> = {
  'no object': { given: [], message: 'the configuration: must be an object' },
  'no name': { given: { ...list, name: undefined }, message: 'name: must name the network' },
  'a name that is a path': {
    given: { ...list, name: '../x' },
    message: 'name: must be letters, digits, ".", "_" and "-": "../x"',
  },
  'an unknown version': {
    given: { ...list, cniVersion: '2.0.0' },
    message: 'cniVersion: 2.0.0 is not supported (supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0)',
  },
  'a version that is not a string': { given: { ...list, cniVersion: 1 }, message: 'cniVersion: must be a string' },
  'versions that are not a list': {
    given: { ...list, cniVersions: '1' },
    message: 'cniVersions: must be a list of strings',
  },
  'plugins that are not a list': { given: { ...list, plugins: {} }, message: 'plugins: must be a list' },
  'no plugins': { given: { ...list, plugins: [] }, message: 'plugins: must have at least one plugin' },
  'a plugin without type': {
    given: { ...list, plugins: [{ type: 'a' }, {}] },
    message: 'plugins[1].type: must name a plugin',
  },
  'a plugin by path': {
    given: { ...list, plugins: [{ type: '/bin/sh' }] },
    message: 'plugins[0].type: must be a name, not a path: "/bin/sh"',
  },
  'capabilities that are not an object': {
    given: { ...list, plugins: [{ type: 'a', capabilities: ['ips'] }] },
    message: 'plugins[0].capabilities: must be an object',
  },
  'an invalid flag': {
    given: { ...list, disableCheck: 'maybe' },
    message: 'disableCheck: must be true or false, got "maybe"',
  },
  'only inlined plugins without any': {
    given: { ...list, plugins: undefined, loadOnlyInlinedPlugins: true },
    message: 'plugins: required when loadOnlyInlinedPlugins is true',
  },
};
for (const [name, { given, message }] of Object.entries(rejected)) {
  test(`parseNetworkList() rejects ${name}`, () => {
    assert.throws(() => parseNetworkList(given), { name: 'NetworkConfigError', message });
  });
}

test('parseSinglePlugin() returns a network of one plugin', () => {
  assert.deepEqual(parseSinglePlugin({ cniVersion: '0.3.1', name: 'pods', type: 'bridge', mtu: 1400 }), {
    ...network,
    cniVersion: '0.3.1',
  });
  assert.throws(() => parseSinglePlugin(list), { message: 'type: must name a plugin' });
});
