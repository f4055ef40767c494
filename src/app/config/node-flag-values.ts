import { labelValueErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { JsonValue } from './json-value.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Whether pods can be kept off by that effect. */
export function isTaintEffect(effect: string): boolean {
  return EFFECTS.includes(effect);
}

/** `memory`, or huge pages of some size. */
export function isMemoryResource(name: string): boolean {
  return name === 'memory' || name.startsWith('hugepages-');
}

/** `key=value:effect,key:effect`; a taint with a dash at its end is to be removed, and so is left out. */
export function parseTaints(text: string): readonly JsonValue[] {
  const specs = text === '' ? [] : text.split(',').filter((spec) => !spec.endsWith('-'));
  const seen = new Set<string>();
  return specs.map((spec) => {
    const taint = parseTaint(spec);
    const identity = `${taint.key}:${taint.effect}`;
    if (seen.has(identity)) {
      const words = `{${taint.key} ${taint.value} ${taint.effect} <nil>}`;
      throw new Error(`duplicated taints with the same key and effect: ${words}`);
    }
    seen.add(identity);
    return taint;
  });
}

function parseTaint(spec: string): { readonly key: string; readonly value: string; readonly effect: string } {
  const [pair = '', effect, ...more] = spec.split(':');
  const [key = '', value = '', ...rest] = pair.split('=');
  if (more.length > 0) throw new Error(`invalid taint spec: ${spec}`);
  if (effect !== undefined && !isTaintEffect(effect)) {
    throw new Error(`invalid taint effect: ${effect}, unsupported taint effect`);
  }
  if (rest.length > 0) throw new Error(`invalid taint spec: ${spec}`);
  const messages = [labelValueErrors(value), qualifiedNameErrors(effect === undefined ? pair : key)].find(
    (each) => each.length > 0,
  );
  if (messages) throw new Error(`invalid taint spec: ${spec}, ${messages.join('; ')}`);
  if (effect === undefined) throw new Error(`invalid taint spec: ${spec}`);
  return { key, value, effect };
}

/** `0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi` */
export function parseReservedMemory(text: string): readonly JsonValue[] {
  if (text === '') return [];
  return text.split(';').map((reservation) => {
    const [node = '', limits, ...rest] = reservation.split(':');
    if (limits === undefined || rest.length > 0) {
      const form = 'numaNodeID:type=quantity[,type=quantity...]';
      throw new Error(`the reserved memory has incorrect format, expected ${form}, got ${reservation}`);
    }
    if (!/^[-+]?[0-9]+$/.test(node)) {
      throw new Error(`failed to convert the NUMA node ID, expected integer, got ${node}`);
    }
    return { numaNode: Number(node), limits: Object.fromEntries(limits.split(',').map(parseLimit)) };
  });
}

function parseLimit(limit: string): readonly [string, string] {
  const [name = '', amount, ...rest] = limit.split('=');
  if (amount === undefined || rest.length > 0) {
    throw new Error(`the reserved limit has incorrect value, expected type=quantity, got ${limit}`);
  }
  if (!isMemoryResource(name)) throw new Error(`memory type conversion error, unknown type: ${JSON.stringify(name)}`);
  try {
    return [name, parseQuantity(amount).toString()];
  } catch {
    throw new Error(`failed to parse the quantity: ${amount}`);
  }
}
