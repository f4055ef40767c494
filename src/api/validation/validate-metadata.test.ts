import { NOT_A_NAME_PART, NOT_A_SUBDOMAIN, type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'no name': {
    change: { metadata: { name: '' } },
    says: ['metadata.name: Required value: name or generateName is required'],
  },
  'a name that is no subdomain': {
    change: { metadata: { name: 'Web_1' } },
    says: [`metadata.name: Invalid value: "Web_1": ${NOT_A_SUBDOMAIN}`],
  },
  'a name that is too long': {
    change: { metadata: { name: 'a'.repeat(254) } },
    says: [`metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`],
  },
  'no namespace': {
    change: { metadata: { namespace: '' } },
    says: ['metadata.namespace: Required value'],
  },
  'a namespace with a dot': {
    change: { metadata: { namespace: 'a.b' } },
    says: ['metadata.namespace: Invalid value: "a.b": must not contain dots'],
  },
  'a bad prefix for a generated name': {
    change: { metadata: { generateName: 'Web-' } },
    says: [`metadata.generateName: Invalid value: "Web-": ${NOT_A_SUBDOMAIN}`],
  },
  'a label key with a bad prefix': {
    change: { metadata: { labels: { '-a/b': 'c' } } },
    says: [`metadata.labels: Invalid value: "-a/b": prefix part ${NOT_A_SUBDOMAIN}`],
  },
  'a label key with two slashes': {
    change: { metadata: { labels: { 'a/b/c': 'd' } } },
    says: [
      "metadata.labels: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
  },
  'an empty label key': {
    change: { metadata: { labels: { '': 'd' } } },
    says: [
      'metadata.labels: Invalid value: "": name part must be non-empty',
      `metadata.labels: Invalid value: "": ${NOT_A_NAME_PART}`,
    ],
  },
  'a label value with a space': {
    change: { metadata: { labels: { app: 'my app' } } },
    says: [
      "metadata.labels: Invalid value: \"my app\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  },
  'a label value that is too long': {
    change: { metadata: { labels: { app: 'a'.repeat(64) } } },
    says: [`metadata.labels: Invalid value: "${'a'.repeat(64)}": must be no more than 63 bytes`],
  },
  'an annotation key that is too long': {
    change: { metadata: { annotations: { aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 'x' } } },
    says: [`metadata.annotations: Invalid value: "${'a'.repeat(64)}": name part must be no more than 63 bytes`],
  },
  'annotations larger than 256 KiB': {
    change: { metadata: { annotations: { a: 'x'.repeat(262144) } } },
    says: ['metadata.annotations: Too long: may not be more than 262144 bytes'],
  },
  'a mirror annotation without a node': {
    change: { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } },
    says: [
      'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
    ],
  },
  'an owner without anything': {
    change: { metadata: { ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }] } },
    says: [
      'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
  },
  'a bad finalizer': {
    change: { metadata: { finalizers: ['A/b/c'] } },
    says: [
      "metadata.finalizers: Invalid value: \"A/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
  },
  'a negative generation': {
    change: { metadata: { generation: -1 } },
    says: ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
  },
};

testRejections(refused, 'metadata with ');
