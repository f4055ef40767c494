import { type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'users and groups out of range': {
    change: { container: { securityContext: { runAsUser: -1, runAsGroup: 2147483648 } } },
    says: [
      'spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
      'spec.containers[0].securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive',
    ],
  },
  'privilege without escalation': {
    change: { container: { securityContext: { privileged: true, allowPrivilegeEscalation: false } } },
    says: [
      'spec.containers[0].securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    ],
  },
  'the admin capability without escalation': {
    change: {
      container: { securityContext: { capabilities: { add: ['CAP_SYS_ADMIN'] }, allowPrivilegeEscalation: false } },
    },
    says: [
      'spec.containers[0].securityContext: Invalid value: {"capabilities":{"add":["CAP_SYS_ADMIN"]},"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
    ],
  },
  'an unknown view of /proc': {
    change: { container: { securityContext: { procMount: 'x' } } },
    says: [
      'spec.containers[0].securityContext.procMount: Unsupported value: "x": supported values: "Default", "Unmasked"',
    ],
  },
  'an unmasked /proc with users of the host': {
    change: { container: { securityContext: { procMount: 'Unmasked' } } },
    says: [
      'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
    ],
  },
  'a seccomp profile without a type': {
    change: { container: { securityContext: { seccompProfile: { type: '' } } } },
    says: [
      'spec.containers[0].securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
    ],
  },
  'an unknown seccomp profile': {
    change: { container: { securityContext: { seccompProfile: { type: 'x' } } } },
    says: [
      'spec.containers[0].securityContext.seccompProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ],
  },
  'a local seccomp profile without a file': {
    change: { container: { securityContext: { seccompProfile: { type: 'Localhost' } } } },
    says: [
      'spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
    ],
  },
  'a local seccomp profile elsewhere': {
    change: { container: { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: '/a/../b' } } } },
    says: [
      'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: "/a/../b": must be a relative path',
      'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: "/a/../b": must not contain \'..\'',
    ],
  },
  'a seccomp file for no local profile': {
    change: { container: { securityContext: { seccompProfile: { type: 'Unconfined', localhostProfile: 'a' } } } },
    says: [
      'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: {"type":"Unconfined","localhostProfile":"a"}: can only be set when seccomp type is Localhost',
    ],
  },
  'an AppArmor profile without a type': {
    change: { container: { securityContext: { appArmorProfile: { type: '' } } } },
    says: [
      'spec.containers[0].securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set',
    ],
  },
  'an unknown AppArmor profile': {
    change: { container: { securityContext: { appArmorProfile: { type: 'x' } } } },
    says: [
      'spec.containers[0].securityContext.appArmorProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ],
  },
  'local AppArmor profiles without a name': {
    change: { container: { securityContext: { appArmorProfile: { type: 'Localhost' } } } },
    says: [
      'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost',
    ],
  },
  'a local AppArmor profile with space around it': {
    change: { container: { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: ' a' } } } },
    says: [
      'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace',
    ],
  },
  'an AppArmor name for no local profile': {
    change: { container: { securityContext: { appArmorProfile: { type: 'RuntimeDefault', localhostProfile: 'a' } } } },
    says: [
      'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost',
    ],
  },
  'pod users and groups out of range': {
    change: { spec: { securityContext: { fsGroup: -1, runAsUser: -2, runAsGroup: -3, supplementalGroups: [1, -4] } } },
    says: [
      'spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
      'spec.securityContext.runAsUser: Invalid value: -2: must be between 0 and 2147483647, inclusive',
      'spec.securityContext.runAsGroup: Invalid value: -3: must be between 0 and 2147483647, inclusive',
      'spec.securityContext.supplementalGroups[1]: Invalid value: -4: must be between 0 and 2147483647, inclusive',
    ],
  },
  'sysctls that are none': {
    change: {
      spec: {
        securityContext: {
          sysctls: [
            { name: '', value: '1' },
            { name: 'A.b', value: '1' },
            { name: 'a.b', value: '1' },
            { name: 'a.b', value: '2' },
          ],
        },
      },
    },
    says: [
      'spec.securityContext.sysctls[0].name: Required value',
      'spec.securityContext.sysctls[1].name: Invalid value: "A.b": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
      'spec.securityContext.sysctls[3].name: Duplicate value: "a.b"',
    ],
  },
  'sysctls of namespaces that are the host’s': {
    change: {
      spec: {
        hostNetwork: true,
        hostIPC: true,
        securityContext: {
          sysctls: [
            { name: 'net.ipv4.ip_forward', value: '1' },
            { name: 'kernel.shmmax', value: '1' },
          ],
        },
      },
    },
    says: [
      'spec.securityContext.sysctls[0].name: Invalid value: "net.ipv4.ip_forward": may not be specified when \'hostNetwork\' is true',
      'spec.securityContext.sysctls[1].name: Invalid value: "kernel.shmmax": may not be specified when \'hostIPC\' is true',
    ],
  },
  'unknown policies': {
    change: {
      spec: { securityContext: { fsGroupChangePolicy: 'x', supplementalGroupsPolicy: 'y', seLinuxChangePolicy: 'z' } },
    },
    says: [
      'spec.securityContext.fsGroupChangePolicy: Unsupported value: "x": supported values: "Always", "OnRootMismatch"',
      'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "y": supported values: "Merge", "Strict"',
      'spec.securityContext.seLinuxChangePolicy: Unsupported value: "z": supported values: "Recursive"',
    ],
  },
  'a shared process namespace on the host’s': {
    change: { spec: { hostPID: true, shareProcessNamespace: true } },
    says: [
      'spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
    ],
  },
  'users of its own with namespaces of the host': {
    change: { spec: { hostUsers: false, hostPID: true, hostIPC: true, hostNetwork: true } },
    says: [
      'spec.hostNetwork: Forbidden: when `hostUsers` is false',
      'spec.HostPID: Forbidden: when `hostUsers` is false',
      'spec.HostIPC: Forbidden: when `hostUsers` is false',
    ],
  },
};

testRejections(refused);
