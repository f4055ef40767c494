/** The known name that was probably meant: one that differs only in case or in a letter. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  const names = [...known];
  const folded = name.toLowerCase();
  return (
    names.find((candidate) => candidate.toLowerCase() === folded) ??
    names.find((candidate) => differByOneLetter(folded, candidate.toLowerCase()))
  );
}

/** `; did you mean "maxPods"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>, prefix = ''): string {
  const meant = closestName(name, known);
  return meant === undefined ? '' : `; did you mean "${prefix}${meant}"?`;
}

/** One letter more, less or other, or two neighbours swapped. */
function differByOneLetter(a: string, b: string): boolean {
  if (a.length > b.length) return differByOneLetter(b, a);
  if (b.length - a.length > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  if (a.length < b.length) return a.slice(start) === b.slice(start + 1);
  const isSwapped = a[start] === b[start + 1] && a[start + 1] === b[start];
  return a.slice(start + 1) === b.slice(start + 1) || (isSwapped && a.slice(start + 2) === b.slice(start + 2));
}
