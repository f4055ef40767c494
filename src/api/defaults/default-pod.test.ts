import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, PodSpec, Volume } from '../generated/core-v1.ts';
import { defaultPod } from './default-pod.ts';

const metadata = { name: 'web', namespace: 'default', uid: 'u' };
const container: Container = { name: 'web', image: 'busybox:1' };

const defaultedContainer: Container = {
  ...container,
  imagePullPolicy: 'IfNotPresent',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};

const defaultedSpec: PodSpec = {
  containers: [defaultedContainer],
  dnsPolicy: 'ClusterFirst',
  restartPolicy: 'Always',
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  schedulerName: 'default-scheduler',
  enableServiceLinks: true,
};

const specOf = (spec: Partial<PodSpec>): PodSpec =>
  defaultPod({ metadata, spec: { containers: [container], ...spec } }).spec;
const containerOf = (more: Partial<Container>, spec: Partial<PodSpec> = {}): Container | undefined =>
  specOf({ ...spec, containers: [{ ...container, ...more }] }).containers[0];

test('defaultPod() fills in what a small pod leaves out', () => {
  assert.deepEqual(specOf({}), defaultedSpec);
});

test('defaultPod() keeps what is said', () => {
  const said = {
    dnsPolicy: 'None',
    restartPolicy: 'Never',
    securityContext: { runAsUser: 1 },
    terminationGracePeriodSeconds: 0,
    schedulerName: 'mine',
    enableServiceLinks: false,
  };
  assert.deepEqual(specOf(said), { ...defaultedSpec, ...said });
});

test('defaultPod() changes nothing the second time, and freezes what it gives', () => {
  const once = defaultPod({ metadata, spec: { containers: [container], volumes: [{ name: 'v' }] } });
  assert.deepEqual(defaultPod(once), once);
  assert.ok(Object.isFrozen(once.spec.containers[0]));
});

test('defaultPod() takes the service account from its old name', () => {
  const { serviceAccountName, serviceAccount } = specOf({ serviceAccount: 'bob' });
  assert.deepEqual([serviceAccountName, serviceAccount], ['bob', 'bob']);
});

const SHA = `sha256:${'a'.repeat(64)}`;
const pullPolicies: Record<string, string> = {
  busybox: 'Always',
  'busybox:latest': 'Always',
  'localhost:5000/busybox': 'Always',
  [`busybox:latest@${SHA}`]: 'Always',
  'busybox:1.36': 'IfNotPresent',
  [`busybox@${SHA}`]: 'IfNotPresent',
  'Not An Image': 'IfNotPresent',
};

for (const [image, policy] of Object.entries(pullPolicies)) {
  test(`defaultPod() pulls ${image} ${policy}`, () => {
    assert.equal(containerOf({ image })?.imagePullPolicy, policy);
  });
}

const containers: Record<string, { given: Partial<Container>; spec?: Partial<PodSpec>; becomes: Partial<Container> }> =
  {
    'ports speak TCP': {
      given: { ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }] },
      becomes: {
        ports: [
          { containerPort: 80, protocol: 'TCP' },
          { containerPort: 53, protocol: 'UDP' },
        ],
      },
    },
    'ports on the host network are the host’s': {
      given: { ports: [{ containerPort: 80 }] },
      spec: { hostNetwork: true },
      becomes: { ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }] },
    },
    'probes have their times and thresholds': {
      given: { livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 5 } },
      becomes: {
        livenessProbe: {
          tcpSocket: { port: 80 },
          timeoutSeconds: 1,
          periodSeconds: 5,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    },
    'HTTP probes ask for the root': {
      given: { readinessProbe: { httpGet: { port: 80 } } },
      becomes: {
        readinessProbe: {
          httpGet: { port: 80, path: '/', scheme: 'HTTP' },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    },
    'hooks over HTTP too': {
      given: { lifecycle: { preStop: { httpGet: { port: 80 } }, postStart: { sleep: { seconds: 1 } } } },
      becomes: {
        lifecycle: {
          preStop: { httpGet: { port: 80, path: '/', scheme: 'HTTP' } },
          postStart: { sleep: { seconds: 1 } },
        },
      },
    },
    'references to fields are of v1': {
      given: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      becomes: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } } }] },
    },
    'what is limited is asked for': {
      given: { resources: { limits: { cpu: 1, memory: '1024Mi' }, requests: { cpu: '0.1' } } },
      becomes: {
        resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m', memory: '1Gi' } },
      },
    },
    'amounts below a thousandth are rounded up': {
      given: { resources: { requests: { cpu: '0.1m' } } },
      becomes: { resources: { requests: { cpu: '1m' } } },
    },
  };

for (const [name, { given, spec = {}, becomes }] of Object.entries(containers)) {
  test(`defaultPod(): ${name}`, () => {
    assert.deepEqual(containerOf(given, spec), { ...defaultedContainer, ...becomes });
  });
}

test('defaultPod() looks after init and ephemeral containers too', () => {
  const { initContainers, ephemeralContainers } = specOf({
    initContainers: [container],
    ephemeralContainers: [container],
  });
  assert.deepEqual([initContainers, ephemeralContainers], [[defaultedContainer], [defaultedContainer]]);
});

const MODE = 0o644;
const volumes: Record<string, { given: Omit<Volume, 'name'>; becomes: Omit<Volume, 'name'> }> = {
  'nothing is an empty directory': { given: {}, becomes: { emptyDir: {} } },
  'a path of the host is of any type': {
    given: { hostPath: { path: '/x' } },
    becomes: { hostPath: { path: '/x', type: '' } },
  },
  'secrets, config maps and facts can be read by all': {
    given: {
      secret: { secretName: 's' },
      configMap: { name: 'c', defaultMode: 0 },
      downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] },
    },
    becomes: {
      secret: { secretName: 's', defaultMode: MODE },
      configMap: { name: 'c', defaultMode: 0 },
      downwardAPI: {
        defaultMode: MODE,
        items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } }],
      },
    },
  },
  'tokens live for an hour': {
    given: { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
    becomes: {
      projected: { defaultMode: MODE, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] },
    },
  },
  'images are pulled by their tag': {
    given: { image: { reference: 'busybox' } },
    becomes: { image: { reference: 'busybox', pullPolicy: 'Always' } },
  },
  'a claim is for a file system': {
    given: { ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '1024Mi' } } } } } },
    becomes: {
      ephemeral: {
        volumeClaimTemplate: { spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } } } },
      },
    },
  },
};

for (const [name, { given, becomes }] of Object.entries(volumes)) {
  test(`defaultPod(): ${name}`, () => {
    assert.deepEqual(specOf({ volumes: [{ name: 'v', ...given }] }).volumes, [{ name: 'v', ...becomes }]);
  });
}

const podLevel: Record<string, { given: PodSpec['resources']; of: Container['resources']; becomes: object }> = {
  'what the pod limits it asks for as its containers do': {
    given: { limits: { cpu: '2', memory: '1Gi' } },
    of: { requests: { cpu: '100m' } },
    becomes: { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '100m', memory: '1Gi' } },
  },
  'huge pages that the containers limit the pod limits too': {
    given: { requests: { cpu: '1' } },
    of: { limits: { 'hugepages-2Mi': '2Mi' } },
    becomes: { limits: { 'hugepages-2Mi': '2Mi' }, requests: { cpu: '1', 'hugepages-2Mi': '2Mi' } },
  },
};

for (const [name, { given, of, becomes }] of Object.entries(podLevel)) {
  test(`defaultPod(): ${name}`, () => {
    const pod: Pod = { metadata, spec: { resources: given, containers: [{ ...container, resources: of }] } };
    assert.deepEqual(defaultPod(pod).spec.resources, becomes);
  });
}
