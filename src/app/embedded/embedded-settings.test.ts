import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_RUNTIME_CONFIG, embeddedSettings, ownerSocket, runtimeFolders } from './embedded-settings.ts';

const PLACES = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };

test('embeddedSettings() has the defaults of containerd', () => {
  assert.deepEqual(
    embeddedSettings({ ...DEFAULT_RUNTIME_CONFIG, ...PLACES }, { mayLowerOomScore: true, hasSystemd: true }),
    {
      rootDir: '/var/lib/nodelet/runtime',
      stateDir: '/run/nodelet/runtime',
      handlers: new Map(),
      network: {
        confDir: '/etc/cni/net.d',
        binDirs: ['/opt/cni/bin', '/usr/lib/cni'],
        maxConfigs: 1,
        setUpSerially: false,
        ipPreference: 'ipv4',
      },
      nri: undefined,
      cdiSpecDirs: ['/etc/cdi', '/var/run/cdi'],
      pauseProgram: '/usr/bin/catatonit',
      registryConfigDirs: ['/etc/containerd/certs.d', '/etc/docker/certs.d'],
      pinnedImages: [],
      cgroupDriver: 'cgroupfs',
      monitorScope: 'nodelet-monitors.scope',
      mayLowerOomScore: true,
    },
  );
});

test('embeddedSettings() enables NRI with a socket', () => {
  const choices = { ...DEFAULT_RUNTIME_CONFIG, ...PLACES, nriSocket: '/run/nri.sock' };
  assert.deepEqual(embeddedSettings(choices, { mayLowerOomScore: false, hasSystemd: false }).nri, {
    socketPath: '/run/nri.sock',
    pluginDir: '/opt/nri/plugins',
    pluginConfigDir: '/etc/nri/conf.d',
    registrationTimeoutMs: 5_000,
    requestTimeoutMs: 2_000,
  });
});

test("the owner socket is outside of the runtime's state folder, which is removed with it", () => {
  assert.deepEqual(
    [ownerSocket(PLACES), runtimeFolders(PLACES).stateDir],
    ['/run/nodelet/runtime.sock', '/run/nodelet/runtime'],
  );
});
