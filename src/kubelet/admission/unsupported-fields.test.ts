import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { SCHEMA } from '../../api/generated/core-v1-schema.ts';
import { examplePod, type PodChanges } from '../sync/config/pod.fixture.ts';
import { unsupportedFields } from './unsupported-fields.ts';

const probe = { exec: { command: ['true'] }, periodSeconds: 1, terminationGracePeriodSeconds: 5 };

const supported: Record<string, PodChanges> = {
  'a plain pod': {},
  'probes of a container': {
    container: {
      livenessProbe: probe,
      readinessProbe: { httpGet: { port: 80 } },
      startupProbe: { tcpSocket: { port: 'http' } },
    },
  },
  'init containers and sidecars': {
    spec: {
      initContainers: [
        { name: 'a', image: 'busybox' },
        { name: 'b', image: 'busybox', restartPolicy: 'Always', startupProbe: probe },
      ],
    },
  },
  'volumes on disk, in memory and of the host': {
    spec: {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'c', hostPath: { path: '/srv', type: 'Directory' } },
      ],
    },
    container: { volumeMounts: [{ name: 'a', mountPath: '/a', readOnly: true, recursiveReadOnly: 'Enabled' }] },
  },
  'volumes of objects, and places inside volumes': {
    spec: {
      volumes: [
        { name: 'a', configMap: { name: 'c', items: [{ key: 'k', path: 'p' }], optional: true } },
        { name: 'b', secret: { secretName: 's', defaultMode: 0o400 } },
        { name: 'c', downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { name: 'd', projected: { sources: [{ configMap: { name: 'c' } }, { secret: {} }, { downwardAPI: {} }] } },
        { name: 'e', emptyDir: { medium: 'HugePages-2Mi' } },
      ],
    },
    container: { volumeMounts: [{ name: 'a', mountPath: '/a', subPath: 'x', subPathExpr: '$(X)' }] },
  },
  'what concerns only the scheduler and the API server': {
    spec: {
      tolerations: [{ operator: 'Exists' }],
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
      schedulerName: 'default-scheduler',
      preemptionPolicy: 'Never',
      serviceAccountName: 'robot',
      automountServiceAccountToken: true,
      enableServiceLinks: true,
    },
  },
  'the node’s own users': { spec: { hostUsers: true } },
  'users of its own, which the runtime may not support': { spec: { hostUsers: false } },
  'a runtime class': { spec: { runtimeClassName: 'kata' } },
  'a signal to stop with, which a feature gate may disable': { container: { lifecycle: { stopSignal: 'SIGUSR1' } } },
  'empty lists and texts': { spec: { imagePullSecrets: [], runtimeClassName: '' }, container: { envFrom: [] } },
  'every source of variables': {
    container: {
      envFrom: [{ prefix: 'P_', configMapRef: { name: 'c' } }, { secretRef: { name: 's', optional: true } }],
      env: [
        { name: 'A', value: 'a' },
        { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
        { name: 'C', valueFrom: { configMapKeyRef: { name: 'c', key: 'k', optional: true } } },
        { name: 'D', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
        { name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'F', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      ],
    },
  },
  'readiness gates, which only an API server has': { spec: { readinessGates: [{ conditionType: 'c' }] } },
  'volumes that are relabelled file by file': { spec: { securityContext: { seLinuxChangePolicy: 'Recursive' } } },
  'an empty lifecycle': { container: { lifecycle: {} } },
  'hooks, even those that fail when they run': {
    container: { lifecycle: { postStart: { tcpSocket: { port: 1 } }, preStop: { sleep: { seconds: 0 } } } },
  },
  'ephemeral containers': { spec: { ephemeralContainers: [{ name: 'debug', targetContainerName: 'web' }] } },
  'every restart rule': { container: { restartPolicyRules: [{ action: 'RestartAllContainers' }] } },
  'block devices': { container: { volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] } },
  'every projected source': {
    spec: {
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [
              { clusterTrustBundle: { name: 'corp', path: 'ca' } },
              { podCertificate: { keyType: 'ED25519', signerName: 'example.com/s', keyPath: 'key' } },
            ],
          },
        },
      ],
    },
  },
  'every kind of probe': { container: { livenessProbe: { grpc: { port: 1 } } } },
};

for (const [what, changes] of Object.entries(supported)) {
  test(`unsupportedFields() finds nothing wrong with ${what}`, () => {
    assert.deepEqual(unsupportedFields(examplePod(changes)), []);
  });
}

const container = 'spec.containers[0]';

const unsupported: Record<string, PodChanges> = {
  'spec.securityContext.seLinuxChangePolicy: "MountOption"': {
    spec: { securityContext: { seLinuxChangePolicy: 'MountOption' } },
  },
  'spec.securityContext.windowsOptions': { spec: { securityContext: { windowsOptions: {} } } },
  [`${container}.resources.limits["gpu"]`]: {
    container: { resources: { limits: { gpu: 1 } } },
  },
};

for (const [path, changes] of Object.entries(unsupported)) {
  test(`unsupportedFields() names ${path}`, () => {
    assert.deepEqual(unsupportedFields(examplePod(changes)), [path]);
  });
}

test('unsupportedFields() names a field of a later API, which no table knows', () => {
  const pod = examplePod();
  const later = { ...pod, spec: { ...pod.spec, teleport: { to: 'mars' }, constructor: 'x' } } as unknown as Pod;
  assert.deepEqual(unsupportedFields(later), ['spec.teleport', 'spec.constructor']);
});

test('unsupportedFields() leaves every known type of volume to its mounting', () => {
  const sources = Object.keys(SCHEMA['Volume'] ?? {}).filter((field) => field !== 'name');
  assert.ok(sources.length > 25);
  for (const source of sources) {
    assert.deepEqual(unsupportedFields(examplePod({ spec: { volumes: [{ name: 'v', [source]: {} }] } })), []);
  }
  const volumes = [{ name: 'v', teleport: {} }];
  assert.deepEqual(unsupportedFields(examplePod({ spec: { volumes } })), ['spec.volumes[0].teleport']);
});
