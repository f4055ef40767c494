import { NOT_A_LABEL, NOT_A_NAME_PART, type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'requests above limits': {
    change: { container: { resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } } },
    says: [
      'spec.containers[0].resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
    ],
  },
  'an unknown resource': {
    change: { container: { resources: { limits: { gpu: '1' } } } },
    says: [
      'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
      'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
    ],
  },
  'a resource of pods only': {
    change: { container: { resources: { limits: { pods: '1' } } } },
    says: [
      'spec.containers[0].resources.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
      'spec.containers[0].resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers',
    ],
  },
  'an invalid resource name': {
    change: { container: { resources: { limits: { 'a b': '1' } } } },
    says: [
      `spec.containers[0].resources.limits[a b]: Invalid value: "a b": ${NOT_A_NAME_PART}`,
      'spec.containers[0].resources.limits[a b]: Invalid value: "a b": must be a standard resource for containers',
      `spec.containers[0].resources.requests[a b]: Invalid value: "a b": ${NOT_A_NAME_PART}`,
      'spec.containers[0].resources.requests[a b]: Invalid value: "a b": must be a standard resource for containers',
    ],
  },
  'half a device': {
    change: { container: { resources: { limits: { 'example.com/gpu': '500m' } } } },
    says: [
      'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer',
      'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer',
    ],
  },
  'a device without limit': {
    change: { container: { resources: { requests: { 'example.com/gpu': '1' } } } },
    says: ['spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources'],
  },
  'fewer devices than the limit': {
    change: { container: { resources: { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '2' } } } },
    says: ['spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
  },
  'a kubernetes.io resource of its own': {
    change: { container: { resources: { limits: { 'requests.example.com/x': '1' } } } },
    says: [
      'spec.containers[0].resources.limits[requests.example.com/x]: Invalid value: "requests.example.com/x": doesn\'t follow extended resource name standard',
      'spec.containers[0].resources.requests[requests.example.com/x]: Invalid value: "requests.example.com/x": doesn\'t follow extended resource name standard',
    ],
  },
  'huge pages alone': {
    change: { container: { resources: { limits: { 'hugepages-2Mi': '4Mi' } } } },
    says: ['spec.containers[0].resources: Forbidden: HugePages require cpu or memory'],
  },
  'part of a huge page': {
    change: { container: { resources: { limits: { 'hugepages-2Mi': '3Mi', memory: '1Gi' } } } },
    says: [
      'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    ],
  },
  'a claim that the pod does not have': {
    change: { container: { resources: { claims: [{ name: 'gpu' }] } } },
    says: [
      'spec.containers[0].resources.claims[0]: Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
    ],
  },
  'claims without a name, and twice': {
    change: {
      spec: {
        resourceClaims: [
          { name: 'gpu', resourceClaimName: 'g' },
          { name: 'b', resourceClaimName: 'b' },
        ],
      },
      container: {
        resources: {
          claims: [
            { name: '' },
            { name: 'gpu', request: 'A' },
            { name: 'gpu' },
            { name: 'b' },
            { name: 'b', request: 'x' },
            { name: 'c' },
          ],
        },
      },
    },
    says: [
      'spec.containers[0].resources.claims[0]: Required value',
      `spec.containers[0].resources.claims[1].request: Invalid value: "A": ${NOT_A_LABEL}`,
      'spec.containers[0].resources.claims[2]: Duplicate value: "gpu"',
      'spec.containers[0].resources.claims[4]: Duplicate value: "b"',
      'spec.containers[0].resources.claims[5]: Not found: "c": must be one of the names in pod.spec.resourceClaims: b, gpu',
    ],
  },
  'a resize policy for an unknown resource': {
    change: {
      container: {
        resizePolicy: [
          { resourceName: 'disk', restartPolicy: 'x' },
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'cpu', restartPolicy: '' },
        ],
      },
    },
    says: [
      'spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"',
      'spec.containers[0].resizePolicy: Unsupported value: "x": supported values: "NotRequired", "RestartContainer"',
      'spec.containers[0].resizePolicy[2]: Duplicate value: "cpu"',
      'spec.containers[0].resizePolicy: Required value',
    ],
  },
  'a resize that restarts a container that never restarts': {
    change: {
      spec: { restartPolicy: 'Never' },
      container: { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] },
    },
    says: [
      "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
    ],
  },
};

testRejections(refused);
