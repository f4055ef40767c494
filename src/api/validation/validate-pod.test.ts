import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  NOT_A_SUBDOMAIN,
  type PodChange,
  type Rejections,
  testRejections,
  validationErrorsOf,
} from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'no containers': {
    change: { spec: { containers: [] } },
    says: ['spec.containers: Required value'],
  },
  'two containers of one name': {
    change: {
      spec: {
        containers: [
          { name: 'web', image: 'a' },
          { name: 'web', image: 'b' },
        ],
      },
    },
    says: ['spec.containers[1].name: Duplicate value: "web"'],
  },
  'an init container with the name of a container': {
    change: { init: { name: 'web' } },
    says: ['spec.initContainers[0].name: Duplicate value: "web"'],
  },
  'two containers on one port of the host': {
    change: {
      spec: {
        containers: [
          { name: 'a', image: 'a', ports: [{ containerPort: 80, hostPort: 80 }] },
          { name: 'b', image: 'b', ports: [{ containerPort: 81, hostPort: 80 }] },
        ],
      },
    },
    says: ['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"'],
  },
  'an init container without a name': {
    change: { init: { name: '' } },
    says: ['spec.initContainers[0].name: Required value'],
  },
  'an init container with an unknown restart policy': {
    change: { init: { restartPolicy: 'Sometimes' } },
    says: [
      'spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
    ],
  },
  'an init container with probes and hooks': {
    change: {
      init: {
        lifecycle: { preStop: { exec: { command: ['a'] } } },
        livenessProbe: { tcpSocket: { port: 1 } },
        readinessProbe: { tcpSocket: { port: 1 } },
        startupProbe: { tcpSocket: { port: 1 } },
      },
    },
    says: [
      'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
      'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      'spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      'spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
    ],
  },
  'an init container that restarts when it is resized': {
    change: { init: { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] } },
    says: [
      'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to \'RestartContainer\' for non-sidecar initContainers',
    ],
  },
  'a sidecar with a broken probe': {
    change: { init: { restartPolicy: 'Always', readinessProbe: {} } },
    says: ['spec.initContainers[0].readinessProbe: Required value: must specify a handler type'],
  },
  'ephemeral containers': {
    change: {
      spec: {
        ephemeralContainers: [
          {
            name: 'web',
            image: 'a',
            targetContainerName: 'x',
            ports: [{ containerPort: 1 }],
            livenessProbe: { tcpSocket: { port: 1 } },
            volumeMounts: [{ name: 'v', mountPath: '/a', subPath: 'b' }],
          },
        ],
        volumes: [{ name: 'v' }],
      },
    },
    says: [
      'spec.ephemeralContainers[0].name: Duplicate value: "web"',
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
  },
  'an unknown restart policy': {
    change: { spec: { restartPolicy: 'x' } },
    says: ['spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"'],
  },
  'ports of the host’s network that differ': {
    change: { spec: { hostNetwork: true }, container: { ports: [{ containerPort: 80, hostPort: 81 }] } },
    says: [
      'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
    ],
  },
  'claims without anything, and twice': {
    change: {
      spec: {
        resourceClaims: [
          { name: '' },
          { name: 'a', resourceClaimName: 'A', resourceClaimTemplateName: 'b' },
          { name: 'a', resourceClaimName: 'c' },
        ],
      },
    },
    says: [
      'spec.resourceClaims[0].name: Required value',
      'spec.resourceClaims[0]: Invalid value: {"name":""}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      'spec.resourceClaims[1]: Invalid value: {"name":"a","resourceClaimName":"A","resourceClaimTemplateName":"b"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      `spec.resourceClaims[1].resourceClaimName: Invalid value: "A": ${NOT_A_SUBDOMAIN}`,
      'spec.resourceClaims[2].name: Duplicate value: "a"',
    ],
  },
  'a negative overhead': {
    change: { spec: { overhead: { cpu: '-1' } } },
    says: ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  },
  'pod resources below its containers’': {
    change: {
      spec: { resources: { requests: { cpu: '1' }, limits: { memory: '1Gi' } } },
      container: { resources: { requests: { cpu: '2' }, limits: { memory: '2Gi' } } },
    },
    says: [
      'spec.resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
      'spec.resources.containers[0][memory].limits: Invalid value: "2Gi": must be less than or equal to pod limits of 1Gi',
    ],
  },
  'pod resources of an unknown kind': {
    change: { spec: { resources: { limits: { 'example.com/gpu': '1' }, claims: [{ name: 'a' }] } } },
    says: [
      'spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level',
      'spec.resources.limits[example.com/gpu]: Unsupported value: "example.com/gpu": supported values: "cpu", "hugepages-", "memory"',
      'spec.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
    ],
  },
  'pod huge pages below its containers’': {
    change: {
      spec: { resources: { limits: { 'hugepages-2Mi': '2Mi', memory: '1Gi' } } },
      container: { resources: { limits: { 'hugepages-2Mi': '4Mi', memory: '1Gi' } } },
    },
    says: [
      'spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container requests of 4Mi',
      'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi',
      'spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less than or equal to pod limits of 2Mi',
    ],
  },
};

const sound: Record<string, PodChange> = {
  'a pod of one container': {},
  'everything that is usual': {
    metadata: { labels: { 'app.kubernetes.io/name': 'web' }, annotations: { 'Example.com/Note': 'x' } },
    spec: {
      hostname: 'web',
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.10', 'fd00::a'], searches: ['svc.cluster.local.', '.'] },
      hostAliases: [{ ip: '127.0.0.1', hostnames: ['a.example'] }],
      tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
      securityContext: { runAsUser: 0, sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] },
      volumes: [{ name: 'data' }, { name: 'config', configMap: { name: 'c', items: [{ key: 'a', path: 'b/c' }] } }],
    },
    container: {
      ports: [{ name: 'http', containerPort: 80, hostPort: 8080 }],
      env: [{ name: 'A.B', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }],
      resources: { requests: { cpu: '100m' }, limits: { memory: '100Mi', 'example.com/gpu': 1 } },
      volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'a/b' }],
      livenessProbe: { httpGet: { port: 'http' } },
      lifecycle: { preStop: { sleep: { seconds: 30 } } },
    },
  },
  'a sidecar with a probe': { init: { restartPolicy: 'Always', readinessProbe: { tcpSocket: { port: 80 } } } },
};

for (const [name, change] of Object.entries(sound)) {
  test(`validatePod() takes ${name}`, () => {
    assert.deepEqual(validationErrorsOf(change), []);
  });
}

testRejections(refused);
