import { type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'a mount of no volume': {
    change: { container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] } },
    says: ['spec.containers[0].volumeMounts[0].name: Not found: "data"'],
  },
  'a mount without name and path': {
    change: { container: { volumeMounts: [{ name: '', mountPath: '' }] } },
    says: [
      'spec.containers[0].volumeMounts[0].name: Required value',
      'spec.containers[0].volumeMounts[0].name: Not found: ""',
      'spec.containers[0].volumeMounts[0].mountPath: Required value',
    ],
  },
  'two mounts in one place': {
    change: {
      spec: { volumes: [{ name: 'v' }] },
      container: {
        volumeMounts: [
          { name: 'v', mountPath: '/a' },
          { name: 'v', mountPath: '/a' },
        ],
      },
    },
    says: ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
  },
  'sub-paths that leave the volume': {
    change: {
      spec: { volumes: [{ name: 'v' }] },
      container: {
        volumeMounts: [
          { name: 'v', mountPath: '/a', subPath: '../x' },
          { name: 'v', mountPath: '/b', subPath: '/x', subPathExpr: 'a/..' },
        ],
      },
    },
    says: [
      'spec.containers[0].volumeMounts.subPath: Invalid value: "../x": must not contain \'..\'',
      'spec.containers[0].volumeMounts.subPath: Invalid value: "/x": must be a relative path',
      'spec.containers[0].volumeMounts[1].subPathExpr: Invalid value: "a/..": subPathExpr and subPath are mutually exclusive',
      'spec.containers[0].volumeMounts.subPathExpr: Invalid value: "a/..": must not contain \'..\'',
    ],
  },
  'unknown mount propagation': {
    change: {
      spec: { volumes: [{ name: 'v' }] },
      container: { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'x' }] },
    },
    says: [
      'spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "x": supported values: "Bidirectional", "HostToContainer", "None"',
    ],
  },
  'mounts back to the host without privilege': {
    change: {
      spec: { volumes: [{ name: 'v' }] },
      container: { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional' }] },
    },
    says: [
      'spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers',
    ],
  },
  'recursively read-only mounts that are not read-only': {
    change: {
      spec: { volumes: [{ name: 'v' }] },
      container: {
        volumeMounts: [
          { name: 'v', mountPath: '/a', recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' },
          { name: 'v', mountPath: '/b', recursiveReadOnly: 'x' },
        ],
      },
    },
    says: [
      'spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true',
      'spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified',
      'spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value: "x": supported values: "Disabled", "Enabled", "IfPossible"',
    ],
  },
  'a device of an empty directory': {
    change: {
      spec: { volumes: [{ name: 'v' }] },
      container: { volumeDevices: [{ name: 'v', devicePath: '/dev/../x' }] },
    },
    says: [
      'spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/dev/../x": can not contain backsteps (\'..\')',
    ],
  },
  'a device that is mounted too': {
    change: {
      spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      container: { volumeMounts: [{ name: 'v', mountPath: '/a' }], volumeDevices: [{ name: 'v', devicePath: '/a' }] },
    },
    says: [
      'spec.containers[0].volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices',
      'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
      'spec.containers[0].volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts',
      'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts',
    ],
  },
  'devices without name and path, and twice': {
    change: {
      spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      container: {
        volumeDevices: [
          { name: '', devicePath: '' },
          { name: 'v', devicePath: '/a' },
          { name: 'v', devicePath: '/a' },
        ],
      },
    },
    says: [
      'spec.containers[0].volumeDevices[0].name: Required value',
      'spec.containers[0].volumeDevices[0].name: Not found: ""',
      'spec.containers[0].volumeDevices[0].devicePath: Required value',
      'spec.containers[0].volumeDevices[2].name: Invalid value: "v": must be unique',
      'spec.containers[0].volumeDevices[2].devicePath: Invalid value: "/a": must be unique',
    ],
  },
  'negative amounts': {
    change: { container: { resources: { requests: { cpu: '-1' } } } },
    says: ['spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  },
};

testRejections(refused);
