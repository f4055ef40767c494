import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap, RuntimeClass, Secret } from '../generated/core-v1.ts';
import { formatFieldError } from './field-error.ts';
import { validateConfigMap, validateRuntimeClass, validateSecret } from './validate-config-objects.ts';

const metadata = { name: 'a', namespace: 'default' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const MIB = 1024 * 1024;
const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const configMaps: Record<string, { object: Omit<ConfigMap, 'metadata'> & Partial<ConfigMap>; says: string[] }> = {
  nothing: { object: {}, says: [] },
  'text and bytes': {
    object: { data: { 'a.b_c-D': '' }, binaryData: { raw: base64('x') }, immutable: true },
    says: [],
  },
  'as much as fits': { object: { data: { a: 'x'.repeat(MIB - 1) }, binaryData: { b: base64('x') } }, says: [] },
  'too much': {
    object: { data: { a: 'ü'.repeat(MIB / 2) }, binaryData: { b: base64('x') } },
    says: ['[]: Too long: may not be more than 1048576 bytes'],
  },
  'a key with a space': { object: { data: { 'a b': '' } }, says: [`data[a b]: Invalid value: "a b": ${KEY_RULE}`] },
  'a key that leads upwards': {
    object: { binaryData: { '..': '' } },
    says: [`binaryData[..]: Invalid value: "..": must not be '..'`],
  },
  'one key twice': {
    object: { data: { a: '' }, binaryData: { a: '' } },
    says: ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  },
  'no name': {
    object: { metadata: { name: '', namespace: 'default' } },
    says: ['metadata.name: Required value: name or generateName is required'],
  },
};

for (const [what, { object, says }] of Object.entries(configMaps)) {
  test(`validateConfigMap() says to ${what}: ${says.length === 0 ? 'fine' : 'no'}`, () => {
    assert.deepEqual([...validateConfigMap({ metadata, ...object })].map(formatFieldError), says);
  });
}

const secrets: Record<string, { object: Omit<Secret, 'metadata'> & Partial<Secret>; says: string[] }> = {
  'anything of no type': { object: { data: { a: base64('x') } }, says: [] },
  'a type of its own': { object: { type: 'example.com/thing' }, says: [] },
  'as much as fits': { object: { data: { a: base64('x'.repeat(MIB)) } }, says: [] },
  'too much': {
    object: { data: { a: base64('x'.repeat(MIB)), b: base64('x') } },
    says: ['data: Too long: may not be more than 1048576 bytes'],
  },
  'a bad key': { object: { data: { 'a/b': '' } }, says: [`data[a/b]: Invalid value: "a/b": ${KEY_RULE}`] },
  'a token without an account': {
    object: { type: 'kubernetes.io/service-account-token' },
    says: ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
  },
  'a registry login': {
    object: { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64('{"auths":{}}') } },
    says: [],
  },
  'a registry login without content': {
    object: { type: 'kubernetes.io/dockerconfigjson', data: { other: '' } },
    says: ['data[.dockerconfigjson]: Required value'],
  },
  'an old registry login that is no JSON, without showing it': {
    object: { type: 'kubernetes.io/dockercfg', data: { '.dockercfg': base64('hunter2') } },
    says: ['data[.dockercfg]: Invalid value: "<secret contents redacted>": is not JSON'],
  },
  'a registry login that is a list': {
    object: { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64('[]') } },
    says: ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": is not an object'],
  },
  'a login with a password alone': { object: { type: 'kubernetes.io/basic-auth', data: { password: '' } }, says: [] },
  'a login with neither name nor password': {
    object: { type: 'kubernetes.io/basic-auth' },
    says: ['data[username]: Required value', 'data[password]: Required value'],
  },
  'an empty SSH key': {
    object: { type: 'kubernetes.io/ssh-auth', data: { 'ssh-privatekey': '' } },
    says: ['data[ssh-privatekey]: Required value'],
  },
  'a certificate without its key': {
    object: { type: 'kubernetes.io/tls', data: { 'tls.crt': '' } },
    says: ['data[tls.key]: Required value'],
  },
};

for (const [what, { object, says }] of Object.entries(secrets)) {
  test(`validateSecret() says to ${what}: ${says.length === 0 ? 'fine' : 'no'}`, () => {
    assert.deepEqual([...validateSecret({ metadata, ...object })].map(formatFieldError), says);
  });
}

const classes: Record<string, { object: Partial<RuntimeClass>; says: string[] }> = {
  'a handler': { object: { handler: 'kata', overhead: { podFixed: { memory: '1Mi' } } }, says: [] },
  'no handler': { object: {}, says: ['handler: Required value'] },
  'a namespace': {
    object: { handler: 'kata', metadata },
    says: ['metadata.namespace: Forbidden: not allowed on this type'],
  },
  'a negative overhead': {
    object: { handler: 'kata', overhead: { podFixed: { cpu: '-1' } } },
    says: ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  },
};

for (const [what, { object, says }] of Object.entries(classes)) {
  test(`validateRuntimeClass() says to ${what}: ${says.length === 0 ? 'fine' : 'no'}`, () => {
    const runtimeClass = { metadata: { name: 'a' }, handler: '', ...object };
    assert.deepEqual([...validateRuntimeClass(runtimeClass)].map(formatFieldError), says);
  });
}
