/** The default number of ids per pod. All other numbers must be multiples of it. */
export const IDS_PER_POD = 65_536;

/** A range of user and group ids of the host. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** The ids available to pods with user namespaces, divided into ranges of `perPod`. */
export interface IdSpace extends IdRange {
  readonly perPod: number;
}

/** All ids except the host's own: kubelet's default without configured subordinate ids. */
export function defaultIdRange(perPod: number): IdRange {
  return { first: perPod, length: 2 ** 32 - perPod };
}

/** Parses the output of `getsubids kubelet`: `0: kubelet 65536 7208960`. Throws unless it is exactly one such line. */
export function parseSubIds(text: string): IdRange {
  const lines = text.replace(/^\n+|\n+$/g, '').split('\n');
  if (lines.length !== 1) throw new Error(`error parsing line ${quoted(text)}: it must contain only one line`);
  const [, , first = '', length = '', ...rest] = lines[0]?.trim().split(/\s+/) ?? [];
  if (length === '' || rest.length > 0) throw new Error(`invalid line ${quoted(text)}`);
  return { first: unsigned32(first, text), length: unsigned32(length, text) };
}

/** Throws kubelet's message for ids that cannot be divided into one range per pod. */
export function idSpace({ first, length }: IdRange, perPod: number, maxPods: number): IdSpace {
  if (perPod % IDS_PER_POD !== 0) {
    throw new Error(`kubelet user namespace length ${perPod} is not a multiple of ${IDS_PER_POD}`);
  }
  if (first % perPod !== 0) throw new Error(`kubelet user assigned ID ${first} is not a multiple of ${perPod}`);
  // Id 0 of the host is never assigned: such a namespace would not isolate anything.
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
