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
    container: { volumeMounts: [{ name: 'a', mountPath: '/a', readOnly: true, recursiveReadOnly: 'Disabled' }] },
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
  'empty lists and texts': { spec: { imagePullSecrets: [], runtimeClassName: '' }, container: { envFrom: [] } },
  'an empty lifecycle': { container: { lifecycle: {} } },
};

for (const [what, changes] of Object.entries(supported)) {
  test(`unsupportedFields() finds nothing wrong with ${what}`, () => {
    assert.deepEqual(unsupportedFields(examplePod(changes)), []);
  });
}

const container = 'spec.containers[0]';

const unsupported: Record<string, PodChanges> = {
  'spec.ephemeralContainers': { spec: { ephemeralContainers: [{ name: 'debug' }] } },
  'spec.hostUsers: false': { spec: { hostUsers: false } },
  'spec.imagePullSecrets': { spec: { imagePullSecrets: [{ name: 's' }] } },
  'spec.readinessGates': { spec: { readinessGates: [{ conditionType: 'c' }] } },
  'spec.resourceClaims': { spec: { resourceClaims: [{ name: 'c' }] } },
  'spec.runtimeClassName': { spec: { runtimeClassName: 'kata' } },
  'spec.securityContext.windowsOptions': { spec: { securityContext: { windowsOptions: {} } } },
  'spec.volumes[0].configMap': { spec: { volumes: [{ name: 'v', configMap: { name: 'c' } }] } },
  'spec.volumes[0].emptyDir.medium: "HugePages"': {
    spec: { volumes: [{ name: 'v', emptyDir: { medium: 'HugePages' } }] },
  },
  [`${container}.restartPolicyRules[0].action: "RestartAllContainers"`]: {
    container: { restartPolicyRules: [{ action: 'RestartAllContainers' }] },
  },
  [`${container}.envFrom`]: { container: { envFrom: [{ configMapRef: { name: 'c' } }] } },
  [`${container}.env[1].valueFrom.secretKeyRef`]: {
    container: {
      env: [
        { name: 'A', value: 'a' },
        { name: 'B', valueFrom: { secretKeyRef: { key: 'k' } } },
      ],
    },
  },
  [`${container}.livenessProbe.grpc`]: { container: { livenessProbe: { grpc: { port: 1 } } } },
  [`${container}.lifecycle.postStart`]: { container: { lifecycle: { postStart: { exec: {} } } } },
  [`${container}.resources.limits["example.com/gpu"]`]: {
    container: { resources: { limits: { 'example.com/gpu': 1 } } },
  },
  [`${container}.volumeDevices`]: { container: { volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] } },
  [`${container}.volumeMounts[0].subPath`]: {
    container: { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }] },
  },
  [`${container}.volumeMounts[0].recursiveReadOnly: "Enabled"`]: {
    container: { volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: 'Enabled' }] },
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

test('unsupportedFields() takes no type of volume for granted', () => {
  const honoured = ['emptyDir', 'hostPath', 'name'];
  const sources = Object.keys(SCHEMA['Volume'] ?? {}).filter((field) => !honoured.includes(field));
  assert.ok(sources.length > 25);
  for (const source of sources) {
    const volumes = [{ name: 'v', [source]: {} }];
    assert.deepEqual(unsupportedFields(examplePod({ spec: { volumes } })), [`spec.volumes[0].${source}`]);
  }
});
