/** What one pod gets unless the configuration says otherwise, and what every other number is a multiple of. */
export const IDS_PER_POD = 65_536;

/** A stretch of user and group ids of this machine. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** The ids that pods with user namespaces of their own may have, cut into ranges of `perPod`. */
export interface IdSpace extends IdRange {
  readonly perPod: number;
}

/** All ids but the machine's own: what kubelet takes when nobody set ids aside for it. */
export function defaultIdRange(perPod: number): IdRange {
  return { first: perPod, length: 2 ** 32 - perPod };
}

/** Reads what `getsubids kubelet` prints: `0: kubelet 65536 7208960`. Throws for anything but one such line. */
export function parseSubIds(text: string): IdRange {
  const lines = text.replace(/^\n+|\n+$/g, '').split('\n');
  if (lines.length !== 1) throw new Error(`error parsing line ${quoted(text)}: it must contain only one line`);
  const [, , first = '', length = '', ...rest] = lines[0]?.trim().split(/\s+/) ?? [];
  if (length === '' || rest.length > 0) throw new Error(`invalid line ${quoted(text)}`);
  return { first: unsigned32(first, text), length: unsigned32(length, text) };
}

/** Throws in kubelet's words for ids that cannot be cut into a range for each pod. */
export function idSpace({ first, length }: IdRange, perPod: number, maxPods: number): IdSpace {
  if (perPod % IDS_PER_POD !== 0) {
    throw new Error(`kubelet user namespace length ${perPod} is not a multiple of ${IDS_PER_POD}`);
  }
  if (first % perPod !== 0) throw new Error(`kubelet user assigned ID ${first} is not a multiple of ${perPod}`);
  // Id 0 of the machine is never given away: a namespace that has it is none.
  if (first < perPod) throw new Error(`kubelet user assigned ID ${first} must be greater or equal to ${perPod}`);
  if (length % perPod !== 0) {
    throw new Error(`kubelet user assigned IDs length ${length} is not a multiple of ${perPod}`);
  }
  if (length / perPod < maxPods) throw new Error(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
  return { first, length, perPod };
}

function unsigned32(digits: string, text: string): number {
  const number = Number(digits);
  if (/^\d+$/.test(digits) && number < 2 ** 32) return number;
  const why = /^\d+$/.test(digits) ? 'value out of range' : 'invalid syntax';
  throw new Error(`error parsing line ${quoted(text)}: strconv.ParseUint: parsing ${quoted(digits)}: ${why}`);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
