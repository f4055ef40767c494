import {
  NOT_A_LABEL,
  NOT_A_NAME_PART,
  NOT_A_SUBDOMAIN,
  type Rejections,
  testRejections,
} from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'an unknown DNS policy': {
    change: { spec: { dnsPolicy: 'x' } },
    says: [
      'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
  },
  'no DNS of the node and none of its own': {
    change: { spec: { dnsPolicy: 'None' } },
    says: ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
  },
  'no DNS of the node and no server of its own': {
    change: { spec: { dnsPolicy: 'None', dnsConfig: { searches: ['a'] } } },
    says: [
      'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
    ],
  },
  'too many name servers, and a bad one': {
    change: { spec: { dnsConfig: { nameservers: ['1.1.1.1', '8.8.8.8', '9.9.9.9', 'dns'] } } },
    says: [
      'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","8.8.8.8","9.9.9.9","dns"]: must not have more than 3 nameservers',
      'spec.dnsConfig.nameservers[3]: Invalid value: "dns": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  },
  'a name server with zeros and a mapped one': {
    change: { spec: { dnsConfig: { nameservers: ['010.0.0.1', '::ffff:1.2.3.4'] } } },
    says: [
      'spec.dnsConfig.nameservers[0]: Invalid value: "010.0.0.1": must not have leading 0s',
      'spec.dnsConfig.nameservers[1]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
    ],
  },
  'bad search domains and an option without a name': {
    change: { spec: { dnsConfig: { searches: ['a_b.', '.', 'A'], options: [{ value: '1' }] } } },
    says: [
      "spec.dnsConfig.searches[2]: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
      'spec.dnsConfig.options[0]: Required value: must not be empty',
    ],
  },
  'too many search domains': {
    change: { spec: { dnsConfig: { searches: new Array(33).fill('a') } } },
    says: [
      'spec.dnsConfig.searches: Invalid value: ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"]: must not have more than 32 search paths',
    ],
  },
  'a deadline of zero': {
    change: { spec: { activeDeadlineSeconds: 0 } },
    says: ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
  },
  'a deadline beyond counting': {
    change: { spec: { activeDeadlineSeconds: 2147483648 } },
    says: ['spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive'],
  },
  'host names that are no labels': {
    change: { spec: { hostname: 'a.b', subdomain: 'A' } },
    says: [
      'spec.hostname: Invalid value: "a.b": must not contain dots',
      `spec.subdomain: Invalid value: "A": ${NOT_A_LABEL}`,
    ],
  },
  'a host name that is overridden twice': {
    change: { spec: { hostnameOverride: `A${'a'.repeat(64)}`, setHostnameAsFQDN: true, hostNetwork: true } },
    says: [
      'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
      'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
      'spec.hostnameOverride: Too long: may not be more than 64 bytes',
      `spec.hostnameOverride: Invalid value: "A${'a'.repeat(64)}": ${NOT_A_SUBDOMAIN}`,
    ],
  },
  'names of other objects that are none': {
    change: { spec: { serviceAccountName: 'A', nodeName: 'B', priorityClassName: 'C', runtimeClassName: 'D' } },
    says: [
      `spec.serviceAccountName: Invalid value: "A": ${NOT_A_SUBDOMAIN}`,
      `spec.nodeName: Invalid value: "B": ${NOT_A_SUBDOMAIN}`,
      `spec.priorityClassName: Invalid value: "C": ${NOT_A_SUBDOMAIN}`,
      `spec.runtimeClassName: Invalid value: "D": ${NOT_A_SUBDOMAIN}`,
    ],
  },
  'an unknown preemption policy': {
    change: { spec: { preemptionPolicy: 'x' } },
    says: ['spec.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'],
  },
  'a bad node selector': {
    change: { spec: { nodeSelector: { 'a b': 'c d' } } },
    says: [
      `spec.nodeSelector: Invalid value: "a b": ${NOT_A_NAME_PART}`,
      "spec.nodeSelector: Invalid value: \"c d\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  },
  'bad host aliases': {
    change: { spec: { hostAliases: [{ ip: 'a', hostnames: ['B'] }] } },
    says: [
      'spec.hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      `spec.hostAliases[0].hostnames[0]: Invalid value: "B": ${NOT_A_SUBDOMAIN}`,
    ],
  },
  'a toleration of everything with a value': {
    change: { spec: { tolerations: [{ operator: 'Exists', value: 'a' }] } },
    says: ['spec.tolerations[0].operator: Invalid value: "a": value must be empty when `operator` is \'Exists\''],
  },
  'a toleration without a key': {
    change: { spec: { tolerations: [{ value: 'a' }] } },
    says: [
      'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  },
  'a toleration with a bad key, value and effect': {
    change: { spec: { tolerations: [{ key: 'a b', value: 'c d', effect: 'x' }] } },
    says: [
      `spec.tolerations[0].key: Invalid value: "a b": ${NOT_A_NAME_PART}`,
      "spec.tolerations[0].operator: Invalid value: \"c d\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      'spec.tolerations[0].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  },
  'a toleration for seconds of what is not for seconds': {
    change: { spec: { tolerations: [{ key: 'a', tolerationSeconds: 5, effect: 'NoSchedule' }] } },
    says: [
      'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set',
    ],
  },
  'a toleration with an unknown operator': {
    change: { spec: { tolerations: [{ key: 'a', operator: 'Is' }] } },
    says: ['spec.tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"'],
  },
  'a toleration that counts': {
    change: { spec: { tolerations: [{ key: 'a', operator: 'Gt', value: '5' }] } },
    says: ['spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
  },
  'an operating system without a name': {
    change: { spec: { os: { name: '' } } },
    says: ['spec.os.name: Required value'],
  },
  'an unknown operating system': {
    change: { spec: { os: { name: 'plan9' } } },
    says: ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
  },
  'Windows options on Linux': {
    change: {
      spec: { os: { name: 'linux' }, securityContext: { windowsOptions: {} } },
      container: { securityContext: { windowsOptions: {} } },
    },
    says: [
      'spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
      'spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
    ],
  },
  'bad gates': {
    change: {
      spec: {
        readinessGates: [{ conditionType: 'a b' }],
        schedulingGates: [{ name: 'a' }, { name: 'a' }],
        nodeName: 'n',
      },
    },
    says: [
      `spec.readinessGates[0].conditionType: Invalid value: "a b": ${NOT_A_NAME_PART}`,
      'spec.schedulingGates[1]: Duplicate value: "a"',
      'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
    ],
  },
};

testRejections(refused);
