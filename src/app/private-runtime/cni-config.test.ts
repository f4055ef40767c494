import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cniConfig } from './cni-config.ts';
import { runtimePaths } from './runtime-paths.ts';

test('cniConfig() makes a bridge with addresses of the pod range, and host ports', () => {
  const paths = runtimePaths({ rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' });
  assert.deepEqual(JSON.parse(cniConfig(paths, '10.88.0.0/16')), {
    cniVersion: '1.0.0',
    name: 'nodelet0',
    plugins: [
      {
        type: 'bridge',
        bridge: 'nodelet0',
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: '/run/nodelet/containerd/ipam',
          ranges: [[{ subnet: '10.88.0.0/16' }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
});
