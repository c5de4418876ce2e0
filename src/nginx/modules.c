/* The loader tables nginx looks up by name. In C, because ngx_module_names is declared char *[] and C++ would hide or reject it. */
#include <ngx_config.h>
#include <ngx_core.h>

extern ngx_module_t ngx_http_fairway_module;
extern ngx_module_t ngx_http_fairway_filter_module;

__attribute__((visibility("default"))) ngx_module_t* ngx_modules[] = {&ngx_http_fairway_module, &ngx_http_fairway_filter_module, NULL};
__attribute__((visibility("default"))) char* ngx_module_names[] = {(char*)"ngx_http_fairway_module",
                                                                   (char*)"ngx_http_fairway_filter_module", NULL};
/* Each of our modules is put before the first of those named behind it that nginx has already. Why there: module.cpp. */
__attribute__((visibility("default"))) char* ngx_module_order[] = {
    (char*)"ngx_http_fairway_module",
    (char*)"ngx_http_mirror_module",
    (char*)"ngx_http_try_files_module",
    (char*)"ngx_http_limit_conn_module",
    (char*)"ngx_http_fairway_filter_module",
    (char*)"ngx_http_range_header_filter_module",
    NULL,
};
