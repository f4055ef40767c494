import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { formatDuration } from '../../base/duration.ts';
import { formatDiagnostic } from './config-diagnostic.ts';
import type { FieldKind } from './field-schema.ts';
import { STRUCTS, type StructName } from './generated/kubelet-configuration-schema.ts';
import type { JsonObject, JsonValue } from './json-value.ts';
import { parseConfigFile } from './parse-config-file.ts';

const HEADER = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

/** The fields are put behind a right header, so they start in line 3. */
function parse(fields: string): { config: JsonObject; errors: string[]; warnings: string[] } {
  const { config, diagnostics } = parseConfigFile(`${HEADER}${fields}`, '/k.yaml');
  const of = (severity: string) =>
    diagnostics.filter((diagnostic) => diagnostic.severity === severity).map(formatDiagnostic);
  return { config, errors: of('error'), warnings: of('warning') };
}

const values: Record<string, { fields: string; config: JsonObject }> = {
  'gives durations as Go prints them': {
    fields: 'syncFrequency: 60s\nfileCheckFrequency: 1.5h\nhttpCheckFrequency: "0"\nvolumeStatsAggPeriod: -1s',
    config: {
      syncFrequency: '1m0s',
      fileCheckFrequency: '1h30m0s',
      httpCheckFrequency: '0s',
      volumeStatsAggPeriod: '-1s',
    },
  },
  'takes nanoseconds for the flush frequency alone': {
    fields: 'logging: {flushFrequency: 5000000000}',
    config: { logging: { flushFrequency: '5s' } },
  },
  'gives quantities as Kubernetes prints them': {
    fields: 'logging: {options: {json: {infoBufferSize: 2048Ki}, text: {infoBufferSize: 1e3}}}',
    config: { logging: { options: { json: { infoBufferSize: '2Mi' }, text: { infoBufferSize: '1k' } } } },
  },
  'reads whole numbers however YAML writes them': {
    fields: 'maxPods: 1e3\nport: 0x10\nreadOnlyPort: 12.0\nmaxOpenFiles: 9007199254740991',
    config: { maxPods: 1000, port: 16, readOnlyPort: 12, maxOpenFiles: 9007199254740991 },
  },
  'reads the truth values of YAML 1.1': {
    fields: 'failSwapOn: no\nenableServer: on\nregisterNode: "true"',
    config: { failSwapOn: false, enableServer: true },
  },
  'keeps texts that look like times': {
    fields: 'clusterDomain: 1:30\nproviderID: 2026-01-01',
    config: { clusterDomain: '1:30', providerID: '2026-01-01' },
  },
  'keeps null, which removes a field in a drop-in': {
    fields: 'clusterDNS: null\nevictionHard: {memory.available: null}',
    config: { clusterDNS: null, evictionHard: { 'memory.available': null } },
  },
  'fills in what an element of a list does not say': {
    fields: 'shutdownGracePeriodByPodPriority: [{priority: 5}]\nreservedMemory: [{limits: {memory: null}}]',
    config: {
      shutdownGracePeriodByPodPriority: [{ priority: 5, shutdownGracePeriodSeconds: 0 }],
      reservedMemory: [{ numaNode: 0, limits: {} }],
    },
  },
  'follows anchors and merge keys': {
    fields: 'systemReserved: &r {cpu: 500m, memory: 1Gi}\nkubeReserved: {<<: *r, memory: 2Gi}\nqosReserved: *r',
    config: {
      systemReserved: { cpu: '500m', memory: '1Gi' },
      kubeReserved: { cpu: '500m', memory: '2Gi' },
      qosReserved: { cpu: '500m', memory: '1Gi' },
    },
  },
};

for (const [name, { fields, config }] of Object.entries(values)) {
  test(`parseConfigFile() ${name}`, () => {
    assert.deepEqual(parse(fields).config, config);
  });
}

const messages: Record<string, { fields: string; errors?: string[]; warnings?: string[] }> = {
  'refuses a word for a number': {
    fields: 'maxPods: ten',
    errors: ['/k.yaml:3:10: maxPods: expected a whole number between -2147483648 and 2147483647, got the string "ten"'],
  },
  'refuses a fraction': {
    fields: 'maxOpenFiles: 1.5',
    errors: ['/k.yaml:3:15: maxOpenFiles: expected a whole number, got the number 1.5'],
  },
  'refuses a number that does not fit': {
    fields: 'maxPods: 2147483648',
    errors: [
      '/k.yaml:3:10: maxPods: expected a whole number between -2147483648 and 2147483647, got the number 2147483648',
    ],
  },
  'refuses a number for a duration': {
    fields: 'authorization:\n  webhook:\n    cacheAuthorizedTTL: 60',
    errors: [
      '/k.yaml:5:25: authorization.webhook.cacheAuthorizedTTL: expected a duration such as "1m0s", got the number 60',
    ],
  },
  "refuses a duration in Go's words": {
    fields: 'syncFrequency: 1d',
    errors: ['/k.yaml:3:16: syncFrequency: time: unknown unit "d" in duration "1d"'],
  },
  "refuses a quantity in Kubernetes' words": {
    fields: 'reservedMemory:\n- limits:\n    memory: lots',
    errors: [
      '/k.yaml:5:13: reservedMemory[0].limits["memory"]: quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
    ],
  },
  'refuses a number where a map holds texts': {
    fields: 'systemReserved: {cpu: 1}',
    errors: ['/k.yaml:3:23: systemReserved["cpu"]: expected a string, got the number 1'],
  },
  'refuses a text for a list, a map or a struct': {
    fields: 'clusterDNS: 10.0.0.10\nevictionHard: none\nlogging: text',
    errors: [
      '/k.yaml:3:13: clusterDNS: expected a list, got the string "10.0.0.10"',
      '/k.yaml:4:15: evictionHard: expected a map, got the string "none"',
      '/k.yaml:5:10: logging: expected a map, got the string "text"',
    ],
  },
  'refuses a list for a text, and nothing in a list': {
    fields: 'address: [0.0.0.0]\nclusterDNS: [null]',
    errors: [
      '/k.yaml:3:10: address: expected a string, got a list',
      '/k.yaml:4:14: clusterDNS[0]: expected a string, got nothing',
    ],
  },
  'warns of an unknown field and names the one that was meant': {
    fields: 'maxpods: 1\nsyncFrequncy: 1m\nauthentication: {webhok: {}}\nbogus: 1',
    warnings: [
      '/k.yaml:3:1: maxpods: unknown field "maxpods" is ignored; did you mean "maxPods"?',
      '/k.yaml:4:1: syncFrequncy: unknown field "syncFrequncy" is ignored; did you mean "syncFrequency"?',
      '/k.yaml:5:18: authentication.webhok: unknown field "webhok" is ignored; did you mean "webhook"?',
      '/k.yaml:6:1: bogus: unknown field "bogus" is ignored',
    ],
  },
  'refuses a key that stands twice': {
    fields: 'maxPods: 1\nport: 2\nmaxPods: 3',
    errors: ['/k.yaml:5:1: the key "maxPods" stands twice in one map'],
  },
  'refuses an anchor that contains itself': {
    fields: 'systemReserved: &r {<<: *r, cpu: 500m}',
    errors: ['/k.yaml:3:20: the anchor "r" contains itself'],
  },
  'reports the location of a YAML syntax error': {
    fields: 'clusterDNS: [\nport: 1',
    errors: [
      '/k.yaml:4:1: cannot parse YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
  },
  'reads the first document only': {
    fields: 'port: 1\n---\nport: 2',
    warnings: ['/k.yaml:5:1: only the first document of a file is read'],
  },
};

for (const [name, { fields, errors = [], warnings = [] }] of Object.entries(messages)) {
  test(`parseConfigFile() ${name}`, () => {
    const parsed = parse(fields);
    assert.deepEqual({ errors: parsed.errors, warnings: parsed.warnings }, { errors, warnings });
  });
}

const headers: Record<string, { text: string; diagnostics: string[] }> = {
  'refuses another kind and leaves its fields alone': {
    text: 'apiVersion: v1\nkind: Pod\nspec: {}\n',
    diagnostics: [
      '/k.yaml:1:13: apiVersion: expected "kubelet.config.k8s.io/v1beta1", found "v1"',
      '/k.yaml:2:7: kind: expected "KubeletConfiguration", found "Pod"',
    ],
  },
  'asks for kind and version': {
    text: 'maxPods: ten\n',
    diagnostics: [
      '/k.yaml:1:1: apiVersion: expected "kubelet.config.k8s.io/v1beta1", found none',
      '/k.yaml:1:1: kind: expected "KubeletConfiguration", found none',
      '/k.yaml:1:10: maxPods: expected a whole number between -2147483648 and 2147483647, got the string "ten"',
    ],
  },
  'refuses what is no map': { text: '- 1\n', diagnostics: ['/k.yaml:1:1: expected a map, got a list'] },
  'refuses an empty file': { text: ' \n', diagnostics: ['/k.yaml: kubelet config file "/k.yaml" was empty'] },
  'takes JSON': {
    text: '{"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"kind": "KubeletConfiguration", "port": "x"}',
    diagnostics: ['/k.yaml:2:42: port: expected a whole number between -2147483648 and 2147483647, got the string "x"'],
  },
};

for (const [name, { text, diagnostics }] of Object.entries(headers)) {
  test(`parseConfigFile() ${name}`, () => {
    assert.deepEqual(parseConfigFile(text, '/k.yaml').diagnostics.map(formatDiagnostic), diagnostics);
  });
}

const SAMPLES: Record<string, JsonValue> = {
  bool: true,
  int32: 7,
  int64: 70_000,
  uint32: 3,
  float64: 0.5,
  string: 'text',
  duration: '1m30s',
  timeOrDuration: '5s',
  quantity: '100Mi',
};

function sampleOf(type: FieldKind<StructName>): JsonValue {
  if (type.kind === 'struct') return sampleStruct(type.name);
  if (type.kind === 'list') return [sampleOf(type.of)];
  if (type.kind === 'map') return { key: sampleOf(type.of) };
  return SAMPLES[type.kind] ?? null;
}

function sampleStruct(name: StructName): JsonObject {
  return Object.fromEntries([...STRUCTS[name]].map(([field, { type }]) => [field, sampleOf(type)]));
}

for (const [field, { type }] of STRUCTS.KubeletConfiguration) {
  test(`parseConfigFile() reads ${field} back as it was written, from YAML and JSON`, () => {
    const config = { [field]: sampleOf(type) };
    const whole = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', ...config };
    assert.deepEqual(parseConfigFile(stringify(whole), '/k.yaml'), { config, diagnostics: [] });
    assert.deepEqual(parseConfigFile(JSON.stringify(whole), '/k.json'), { config, diagnostics: [] });
  });
}

test('parseConfigFile() reads every duration that Go prints back as it is', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n }), (nanoseconds) => {
      const syncFrequency = formatDuration(nanoseconds);
      assert.deepEqual(parse(`syncFrequency: "${syncFrequency}"`).config, { syncFrequency });
    }),
  );
});
