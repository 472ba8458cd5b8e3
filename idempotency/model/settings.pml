/*
 * What a configuration sets, each with its default: -DNAME=VALUE. The first group is the world, the second the code's guards
 * (0: removed), the third which properties are asserted beside those that always are.
 */
#ifndef NDO             /* requests of Do */
#define NDO 0
#endif
#ifndef NTX             /* requests of a claimed transaction */
#define NTX 0
#endif
#ifndef NSHOT           /* single shots */
#define NSHOT 0
#endif
#ifndef NPERSON         /* people who resolve */
#define NPERSON 0
#endif
#ifndef OTHER           /* the last of them sends another fingerprint: 1 of Do, 2 of claimed, 4 of single shots */
#define OTHER 0
#endif
#ifndef RERUN           /* a bit for each request that runs over an unknown: 1 the first of Do, ... */
#define RERUN 0
#endif
#ifndef STEPS           /* the effect of Do and of a claimed transaction is a step */
#define STEPS 0
#endif
#ifndef LARGE           /* the outcome is in two items beside the record */
#define LARGE 0
#endif
#ifndef ALIKE           /* the requests differ in nothing: they begin in order, which leaves no case out */
#define ALIKE 0
#endif
#ifndef MAXF            /* lost replies, lost and late requests */
#define MAXF 1
#endif
#ifndef DELAY           /* a request may be carried out later, at any time */
#define DELAY 0
#endif
#ifndef MAXR            /* decisions that a request makes */
#define MAXR 2
#endif
#ifndef MAXT            /* tokens, and 1 */
#define MAXT 7
#endif
#ifndef MAXW            /* windows */
#define MAXW 2
#endif
#ifndef ENDS            /* windows may end */
#define ENDS 1
#endif
#ifndef TTL             /* and their records be deleted */
#define TTL 1
#endif
#ifndef SKEWL
#define SKEWL 0
#endif
#ifndef SKEWR
#define SKEWR 0
#endif
#ifndef KILLED          /* whoever holds a lease is dead when it ends, as in Lambda */
#define KILLED 0
#endif
#ifndef LOST            /* the items beside the record may be lost */
#define LOST 0
#endif
#ifndef ROTATES         /* what a request created it gives back as over: so while secrets rotate */
#define ROTATES 0
#endif
#ifndef PREVS           /* the record's prev and prev_end are kept */
#define PREVS 0
#endif

#ifndef G_ACQLEASE      /* acquireCondition: a live lease is not replaced */
#define G_ACQLEASE 1
#endif
#ifndef G_MINE          /* acquireCondition: nor what this very token created */
#define G_MINE 1
#endif
#ifndef G_RETENTION     /* the window of a record in progress ends after its lease */
#define G_RETENTION 1
#endif
#ifndef G_RSEEN         /* reacquireCondition: the token seen */
#define G_RSEEN 1
#endif
#ifndef G_RSTATUS       /* reacquireCondition: RELEASED */
#define G_RSTATUS 1
#endif
#ifndef G_TSEEN         /* takeOverCondition: the token seen */
#define G_TSEEN 1
#endif
#ifndef G_TSTATUS       /* takeOverCondition: UNKNOWN or INPROGRESS */
#define G_TSTATUS 1
#endif
#ifndef G_TLEASE        /* takeOverCondition: the lease over */
#define G_TLEASE 1
#endif
#ifndef G_FORM          /* takeOverTxCondition, and inside: the form */
#define G_FORM 1
#endif
#ifndef G_EXT           /* takeOverTxCondition: no step has begun */
#define G_EXT 1
#endif
#ifndef G_NOPRIOR       /* takeOverTxCondition, and inside: no prior */
#define G_NOPRIOR 1
#endif
#ifndef G_TOKEN         /* ownCondition: the token is mine */
#define G_TOKEN 1
#endif
#ifndef G_STATUS        /* ownCondition: INPROGRESS */
#define G_STATUS 1
#endif
#ifndef G_FRESH         /* a new token for each claim */
#define G_FRESH 1
#endif
#ifndef G_EXPIRY        /* a record's window before all else */
#define G_EXPIRY 1
#endif
#ifndef G_MATCH         /* its fingerprint before its state */
#define G_MATCH 1
#endif
#ifndef G_OWNCLAIM      /* an own claim whose reply was lost is recognised */
#define G_OWNCLAIM 1
#endif
#ifndef G_ANSWER        /* without an answer to the claim nothing runs */
#define G_ANSWER 1
#endif
#ifndef G_CLOCK         /* nor when the lease is over by then */
#define G_CLOCK 1
#endif
#ifndef G_GIVEBACK      /* but the key is given back */
#define G_GIVEBACK 1
#endif
#ifndef G_BACKPRIOR     /* as an unknown, after a take-over */
#define G_BACKPRIOR 1
#endif
#ifndef G_LEAVEPRIOR    /* and so is what a handler releases that had a prior */
#define G_LEAVEPRIOR 1
#endif
#ifndef G_KEEP          /* a release keeps the record */
#define G_KEEP 1
#endif
#ifndef G_OWNEND        /* an own outcome is recognised */
#define G_OWNEND 1
#endif
#ifndef G_SAMEEND       /* and compared with what this run would have recorded */
#define G_SAMEEND 1
#endif
#ifndef G_PREV          /* an own ending write is recognised by prev */
#define G_PREV 1
#endif
#ifndef G_WINNER        /* a winner's outcome is handed out to the same fingerprint only */
#define G_WINNER 1
#endif
#ifndef G_STEPKEEP      /* re-acquire and take-over are updates, which keep the steps */
#define G_STEPKEEP 1
#endif
#ifndef G_STEPNEW       /* the steps are those of the item that the update returns */
#define G_STEPNEW 1
#endif
#ifndef G_BEGIN         /* a claimed transaction's record says that a step begins */
#define G_BEGIN 1
#endif
#ifndef G_OPEN          /* a step that has run and is not recorded makes a release an unknown */
#define G_OPEN 1
#endif
#ifndef G_ITEMSFIRST    /* items before the outcome that points to them */
#define G_ITEMSFIRST 1
#endif
#ifndef G_ITEMNAME      /* under a name of their own */
#define G_ITEMNAME 1
#endif
#ifndef G_ATOMIC        /* outcome and staged writes in one transaction */
#define G_ATOMIC 1
#endif
#ifndef G_LOOK          /* a single shot looks for an outcome before its handler's error goes back */
#define G_LOOK 1
#endif
#ifndef G_KEEPOUT       /* and writes, where its transaction was sent */
#define G_KEEPOUT 1
#endif
#ifndef G_KEEPUNKNOWN   /* over an unknown: an unknown */
#define G_KEEPUNKNOWN 1
#endif
#ifndef G_POLICY        /* a single shot obeys the policy */
#define G_POLICY 1
#endif
#ifndef G_RFRESH        /* a resolution has a token of its own */
#define G_RFRESH 1
#endif

#ifndef A_CONC          /* CONC: one handler at a time */
#define A_CONC 0
#endif
#ifndef A_BLOCK         /* BLOCK: an attempt that never ran and has ended blocks nobody */
#define A_BLOCK 0
#endif
#ifndef A_PREV          /* I7 for release and mark unknown */
#define A_PREV 0
#endif
