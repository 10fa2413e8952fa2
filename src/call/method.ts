/** Shape of one row of the method table (methods.ts). Everything that treats methods differently derives from these fields. */
export interface Method {
  /** Position in METHODS. */
  readonly index: number;
  /** Position in PROTOCOLS. */
  readonly protocol: number;
  /** Name on the wire. */
  readonly name: string;
  /** Full protobuf names of request and response message. */
  readonly request: string;
  readonly response: string;
  /** Top-level field number of the path in the request, 0 when the scan has no path to find. */
  readonly pathField: number;
  /** Top-level field number of the second path (rename's dst, createSymlink's link), 0 for none. */
  readonly path2Field: number;
  /** The path sits elsewhere (a list, an embedded message): the slow path finds it. Dotted names, e.g. `info.path`, `srcs`, `paths`. */
  readonly deepPaths: readonly string[];
  /** By effect on the namespace. */
  readonly effect: 'read' | 'write';
  /** Operation category of the Java Router: WRITE is what its safe mode stops. Read-only mounts stop what has the effect `write`. */
  readonly category: 'READ' | 'WRITE' | 'UNCHECKED' | 'none';
  /** Observers answer it only with a state id (@ReadOnly(isCoordinated)). */
  readonly coordinated: boolean;
  readonly activeOnly: boolean;
  readonly observerReadable: boolean;
  readonly retry: 'Idempotent' | 'AtMostOnce' | 'none';
  /** Refused when the (first) path is a mount point or has mount points below it. */
  readonly mountCheck: boolean;
  /** The same for the second path. */
  readonly mountCheck2: boolean;
  readonly quotaCheck: boolean;
  /**
   * On a mount with several destinations: `first` asks one location after the other until an answer matches `match`; `every` asks all of
   * them at once at mount points, where directories exist everywhere, and those that have a directory which several have; else as `first`.
   */
  readonly several: 'first' | 'every';
  /** The answer that ends a search: any success, one that is not empty, one that says true. */
  readonly match: 'any' | 'present' | 'true';
  readonly strategy: Strategy;
  /** Dotted name of the block pool id in the request, '' for none. */
  readonly blockPool: string;
  /** Dotted names of paths in the response that are translated back to the client's view. */
  readonly replyPaths: readonly string[];
  /** Dotted name of the HdfsFileStatusProto in the response whose `namespace` is set (create: fs, append: stat), '' for none. */
  readonly namespaceIn: string;
  /** For strategy `refused`: why no router can answer it, as the manual and the exception say it; else ''. */
  readonly refusedBecause: string;
  /** What it costs a NameNode, as far as that is known: `cheap` reads tell how busy it is, `heavy` ones stand in a lane of their own. */
  readonly cost: 'cheap' | 'usual' | 'heavy';
  /** What the manual adds about the method, '' for nothing. */
  readonly note: string;
}

/**
 * Whether only an active NameNode answers it with success, of the methods that observers never answer: changes and msync. Asked whether it is
 * in safe mode, an observer says so (setSafeMode as a question is a read there).
 */
export function provesActive({ category, name }: Method): boolean {
  return (category === 'WRITE' && name !== 'setSafeMode') || name === 'msync';
}

/** One protocol of the client port. */
export interface Protocol {
  /** Name on the wire, in RequestHeaderProto. */
  readonly name: string;
  readonly version: number;
  /** The last part of the name, as people and metrics use it. */
  readonly simpleName: string;
  /** Full protobuf name of the service that describes its methods. */
  readonly service: string;
}

/**
 * How a call is answered; one file each under strategies/.
 *
 * - one-path: by the nameservice of its path
 * - two-paths: all its paths must lie in one nameservice
 * - block-pool: by the nameservice that owns the block pool
 * - named-nameservices: those that the call names: renewLease, removeCacheDirective
 * - any-nameservice: the default nameservice, then the others
 * - mount-view: by the nameservices at and below its path, and by the mount points there
 * - every-nameservice: by all nameservices, their answers merged
 * - local: by the router itself
 * - refused: not served by any router (the reason stands in `refusedBecause`)
 */
export type Strategy =
  | 'one-path'
  | 'two-paths'
  | 'block-pool'
  | 'named-nameservices'
  | 'any-nameservice'
  | 'mount-view'
  | 'every-nameservice'
  | 'local'
  | 'refused';
