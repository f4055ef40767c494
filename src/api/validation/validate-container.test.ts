import { NOT_A_LABEL, type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'no name': {
    change: { container: { name: '' } },
    says: ['spec.containers[0].name: Required value'],
  },
  'a name that is no label': {
    change: { container: { name: 'Foo_' } },
    says: [`spec.containers[0].name: Invalid value: "Foo_": ${NOT_A_LABEL}`],
  },
  'a name with a dot': {
    change: { container: { name: 'a.b' } },
    says: ['spec.containers[0].name: Invalid value: "a.b": must not contain dots'],
  },
  'a name that is too long': {
    change: { container: { name: 'a'.repeat(64) } },
    says: [`spec.containers[0].name: Invalid value: "${'a'.repeat(64)}": must be no more than 63 characters`],
  },
  'no image': {
    change: { container: { image: '' } },
    says: ['spec.containers[0].image: Required value'],
  },
  'an image with space around it': {
    change: { container: { image: ' busybox' } },
    says: ['spec.containers[0].image: Invalid value: " busybox": must not have leading or trailing whitespace'],
  },
  'an unknown pull policy': {
    change: { container: { imagePullPolicy: 'Sometimes' } },
    says: [
      'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
    ],
  },
  'an unknown termination message policy': {
    change: { container: { terminationMessagePolicy: 'x' } },
    says: [
      'spec.containers[0].terminationMessagePolicy: Unsupported value: "x": supported values: "File", "FallbackToLogsOnError"',
    ],
  },
  'a port name that is no service name': {
    change: { container: { ports: [{ name: 'Http_', containerPort: 80 }] } },
    says: [
      'spec.containers[0].ports[0].name: Invalid value: "Http_": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
  },
  'a port name without a letter': {
    change: { container: { ports: [{ name: '80', containerPort: 80 }] } },
    says: ['spec.containers[0].ports[0].name: Invalid value: "80": must contain at least one letter (a-z)'],
  },
  'a port name that is too long': {
    change: { container: { ports: [{ name: 'a234567890123456', containerPort: 80 }] } },
    says: ['spec.containers[0].ports[0].name: Invalid value: "a234567890123456": must be no more than 15 characters'],
  },
  'a port name twice': {
    change: {
      container: {
        ports: [
          { name: 'http', containerPort: 80 },
          { name: 'http', containerPort: 81 },
        ],
      },
    },
    says: ['spec.containers[0].ports[1].name: Duplicate value: "http"'],
  },
  'a port without a number': {
    change: { container: { ports: [{ containerPort: 0 }] } },
    says: ['spec.containers[0].ports[0].containerPort: Required value'],
  },
  'ports out of range': {
    change: { container: { ports: [{ containerPort: 65536, hostPort: -1 }] } },
    says: [
      'spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
      'spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive',
    ],
  },
  'an unknown protocol': {
    change: { container: { ports: [{ containerPort: 80, protocol: 'ICMP' }] } },
    says: ['spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
  },
  'a host port twice': {
    change: {
      container: {
        ports: [
          { containerPort: 80, hostPort: 8080 },
          { containerPort: 81, hostPort: 8080 },
        ],
      },
    },
    says: ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//8080"'],
  },
  'an unknown restart policy': {
    change: { container: { restartPolicy: 'Sometimes' } },
    says: [
      'spec.containers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
    ],
  },
  'restart rules without a policy': {
    change: { container: { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] } },
    says: ['spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used'],
  },
  'broken restart rules': {
    change: {
      container: {
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Stop' }, { action: 'Restart', exitCodes: { operator: 'Is', values: [1] } }],
      },
    },
    says: [
      'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"',
      'spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified',
      'spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
    ],
  },
  'too many restart rules': {
    change: {
      container: {
        restartPolicy: 'Never',
        restartPolicyRules: new Array(21).fill({ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }),
      },
    },
    says: ['spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items'],
  },
};

testRejections(refused, 'a container with ');
