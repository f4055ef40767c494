import { NOT_A_NAME_PART, NOT_A_SUBDOMAIN, type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'a variable without a name': {
    change: { container: { env: [{ name: '', value: 'a' }] } },
    says: ['spec.containers[0].env[0].name: Required value'],
  },
  'a variable with a sign of equality in its name': {
    change: { container: { env: [{ name: 'A=B' }] } },
    says: [
      'spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
    ],
  },
  'a variable from nowhere': {
    change: { container: { env: [{ name: 'A', valueFrom: {} }] } },
    says: [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    ],
  },
  'a variable with a value and a source': {
    change: {
      container: { env: [{ name: 'A', value: 'b', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
    },
    says: ['spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
  },
  'a variable from two sources': {
    change: {
      container: {
        env: [
          {
            name: 'A',
            valueFrom: { fieldRef: { fieldPath: 'metadata.name' }, configMapKeyRef: { name: 'c', key: 'k' } },
          },
        ],
      },
    },
    says: [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time',
    ],
  },
  'a variable from a field that does not exist': {
    change: { container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.image' } } }] } },
    says: [
      'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.image": error converting fieldPath: field label not supported: spec.image',
    ],
  },
  'a variable from a field that is not offered': {
    change: { container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.phase' } } }] } },
    says: [
      'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
    ],
  },
  'a variable from a subscript of a field that has none': {
    change: { container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.name['a']" } } }] } },
    says: [
      "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.name['a']\": error converting fieldPath: field label does not support subscript: metadata.name['a']",
    ],
  },
  'a variable from a label with a bad key': {
    change: { container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } }] } },
    says: [`spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: "a b": ${NOT_A_NAME_PART}`],
  },
  'a variable from no field': {
    change: { container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: '' } } }] } },
    says: ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value'],
  },
  'a variable from another version of the API': {
    change: {
      container: { env: [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } }] },
    },
    says: [
      'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
    ],
  },
  'a variable from an unknown resource': {
    change: { container: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }] } },
    says: [
      'spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
    ],
  },
  'a variable from no resource': {
    change: { container: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: '' } } }] } },
    says: ['spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value'],
  },
  'a divisor that does not fit cpu': {
    change: {
      container: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1Mi' } } }] },
    },
    says: [
      'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
    ],
  },
  'a divisor that does not fit memory': {
    change: {
      container: {
        env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '10' } } }],
      },
    },
    says: [
      'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource',
    ],
  },
  'a divisor that does not fit storage': {
    change: {
      container: {
        env: [
          { name: 'A', valueFrom: { resourceFieldRef: { resource: 'requests.ephemeral-storage', divisor: '10' } } },
        ],
      },
    },
    says: [
      'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.ephemeral-storage": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource',
    ],
  },
  'a divisor that does not fit huge pages': {
    change: {
      container: {
        env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'requests.hugepages-2Mi', divisor: '10' } } }],
      },
    },
    says: [
      'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.hugepages-2Mi": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource',
    ],
  },
  'a key of no config map': {
    change: { container: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { key: '' } } }] } },
    says: [
      `spec.containers[0].env[0].valueFrom.configMapKeyRef.name: Invalid value: "": ${NOT_A_SUBDOMAIN}`,
      'spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value',
    ],
  },
  'a bad key of a secret': {
    change: { container: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'S', key: '..a b' } } }] } },
    says: [
      `spec.containers[0].env[0].valueFrom.secretKeyRef.name: Invalid value: "S": ${NOT_A_SUBDOMAIN}`,
      "spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value: \"..a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      'spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value: "..a b": must not start with \'..\'',
    ],
  },
  'a file key without anything': {
    change: { container: { env: [{ name: 'A', valueFrom: { fileKeyRef: { key: '', volumeName: '', path: '' } } }] } },
    says: [
      'spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value',
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value',
      'spec.containers[0].env[0].valueFrom.fileKeyRef.path: Required value',
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: ""',
    ],
  },
  'a file key on a volume that is no empty directory': {
    change: {
      spec: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] },
      container: { env: [{ name: 'A', valueFrom: { fileKeyRef: { key: 'k', volumeName: 'v', path: '../p' } } }] },
    },
    says: [
      'spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: "../p": must not contain \'..\'',
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir',
    ],
  },
  'an environment from nowhere': {
    change: { container: { envFrom: [{ prefix: 'A=' }] } },
    says: [
      'spec.containers[0].envFrom[0].prefix: Invalid value: "A=": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
      'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
    ],
  },
  'an environment from two places': {
    change: { container: { envFrom: [{ configMapRef: { name: 'c' }, secretRef: { name: 's' } }] } },
    says: ['spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time'],
  },
  'an environment from a nameless config map and a badly named secret': {
    change: { container: { envFrom: [{ configMapRef: {} }, { secretRef: { name: 'S_' } }] } },
    says: [
      'spec.containers[0].envFrom[0].configMapRef.name: Required value',
      `spec.containers[0].envFrom[1].secretRef.name: Invalid value: "S_": ${NOT_A_SUBDOMAIN}`,
    ],
  },
};

testRejections(refused);
